"""Build the application of one deployment, for the gateway and for Lambda."""

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Final, Literal

from starlette.applications import Starlette

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.deployment.outputs import outputs_reader
from bucketcast.gateway import rights
from bucketcast.gateway.account_cache import AccountCache
from bucketcast.gateway.admin.routes import Admin
from bucketcast.gateway.app import S3, build
from bucketcast.gateway.audit import Audit
from bucketcast.gateway.bucket_list import BucketList
from bucketcast.gateway.call_names import CallNames
from bucketcast.gateway.proxy import Proxy
from bucketcast.limits import MOST_USER_LISTENERS
from bucketcast.listen.api import Listen, refuse_listening
from bucketcast.listen.aws.credentials import CredentialsProvider
from bucketcast.listen.aws.listeners import Listeners, Table
from bucketcast.listen.bucket_events import BucketEvents
from bucketcast.listen.queue import Queue, Sqs
from bucketcast.notifications.api import Notifications
from bucketcast.state.dynamic_targets import Table as Targets
from bucketcast.topics.api.sns import Sns
from bucketcast.topics.api.user_topics import UserTopics
from bucketcast.topics.aws.topics import topics_of
from bucketcast.users import User
from bucketcast.users.aws import Users
from bucketcast.web.authentication import Authenticator
from bucketcast.web.request import RawRequest
from bucketcast.web.responses import Handler
from bucketcast.web.secure import SecureCalls, secure

Serves = Literal["all", "notifications", "listeners"]
"""What an application answers: on Lambda listeners have a function of their own."""
_REFUSALS: Final[Mapping[Serves, str]] = {
    "all": "",
    "notifications": "this endpoint answers bucket notifications, users and administration; "
    "objects are at {}",
    "listeners": "this endpoint answers listen calls; the stack's output GatewayUrl is for "
    "notifications, users and administration, and objects are at {}",
}


def create_app(  # noqa: PLR0913 - one for each option of the gateway
    stack: str,
    table: str,
    aws: Aws,
    *,
    domains: Sequence[str] = (),
    serves: Serves = "all",
    listen_url: str = "",
    listeners_per_user: int = MOST_USER_LISTENERS,
    secure_calls: SecureCalls = "never",
) -> Starlette:
    """Build the application.

    `serves` says what it answers itself; only with "all" other calls are proxied to S3, but for the
    calls that clients make first. `listen_url` is where another application serves listeners, "" if
    none does. `secure_calls` says which calls count as sent over TLS.
    """
    credentials = CredentialsProvider()
    region, endpoint = aws.sqs.meta.region_name, aws.s3.meta.endpoint_url
    deployment = outputs_reader(stack, aws)
    accounts = _cache_accounts(Users(stack, table, aws.dynamodb, aws.secretsmanager))

    def notify(bucket: str, name: str, body: str) -> None:
        """Send a bucket's notification of an event to ingest, unless CloudTrail logs it."""
        if name not in deployment().access_events.get(bucket, ()):
            with aws_errors():
                aws.sqs.send_message(QueueUrl=deployment().ingress_queue, MessageBody=body)

    def answers(call: RawRequest) -> Handler | None:
        if serves == "notifications":
            refuse_listening(call, listen_url)
        elif handler := listen.answers(call):
            return handler
        return None if serves == "listeners" else notifications.answers(call)

    authenticator = Authenticator(
        accounts, accounts.find_user, domains=tuple(name.lower() for name in domains)
    )
    notifications = Notifications(deployment, aws, region)
    # The account's URL of queues, which no deploy changes.
    queues = cache(lambda: deployment().ingress_queue.rpartition("/")[0])
    listeners = Listeners(
        stack,
        Table(table, aws.dynamodb),
        aws.sqs,
        queues,
        kms_key=lambda: deployment().kms_key,
        per_user=listeners_per_user,
    )
    sqs = Sqs(aws.sqs.meta.endpoint_url, region, credentials)
    listen = Listen(
        listeners,
        lambda listener: Queue(listeners.url(listener), sqs),
        notifications.attach,
        endless=serves == "all",
    )

    proxy = Proxy(endpoint, region, credentials)
    events = BucketEvents(
        BucketList(proxy),
        notify,
        region,
        attach=partial(_attach_if_heard, notifications, listeners),
        forget=partial(_forget, notifications, listeners),
    )
    s3 = S3(
        authenticator,
        rights.require,
        answers,
        events,
        refusal=_REFUSALS[serves].format(endpoint),
        preflight=proxy.preflight if serves == "all" else None,
    )
    if serves == "listeners":
        app = build(s3, is_ready=accounts.read_users)
    else:
        topics = UserTopics(
            Targets(table, aws.dynamodb), lambda: topics_of(stack, table, aws), region
        )
        sns = Sns(authenticator, secure(secure_calls), s3, topics)
        admin = Admin(authenticator, accounts, stack, aws)
        app = build(sns, admin.routes(), is_ready=accounts.read_users)
    app.state.listen = listen
    app.add_middleware(Audit, names=CallNames(aws.s3.meta.service_model))
    return app


def _cache_accounts(users: Users) -> AccountCache:
    @aws_errors()
    def read_users() -> dict[str, User]:
        return {key: user for user in users.all() for key in user.keys}

    return AccountCache(aws_errors()(users.find), read_users)


@aws_errors()
def _attach_if_heard(notifications: Notifications, listeners: Listeners, bucket: str) -> None:
    """Attach a created bucket, if somebody listens to all."""
    if listeners.any_of_all_objects():
        notifications.attach(bucket)


@aws_errors()
def _forget(notifications: Notifications, listeners: Listeners, bucket: str) -> None:
    """Remove what hangs on a bucket that is gone, for the next one of its name."""
    listeners.forget(bucket)
    notifications.forget(bucket)
