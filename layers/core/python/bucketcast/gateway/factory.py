"""Build the application of one deployment, for the gateway and for Lambda."""

from collections.abc import Sequence

from starlette.applications import Starlette

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.deployment.outputs import outputs_reader
from bucketcast.gateway.account_cache import AccountCache
from bucketcast.gateway.admin.routes import Admin
from bucketcast.gateway.app import S3, build
from bucketcast.gateway.audit import Audit
from bucketcast.gateway.proxy import Proxy
from bucketcast.listen.api import Listen
from bucketcast.listen.aws.credentials import CredentialsProvider
from bucketcast.listen.aws.listeners import Listeners, Table
from bucketcast.listen.bucket_events import BucketEvents
from bucketcast.listen.queue import Queue, Sqs
from bucketcast.notifications.api import Notifications
from bucketcast.notifications.aws import checks
from bucketcast.notifications.aws.access_events import AccessEvents
from bucketcast.topics.api.sns import Sns
from bucketcast.topics.api.user_topics import UserTopics
from bucketcast.topics.aws.table import TopicTable
from bucketcast.topics.aws.topics import topics_of
from bucketcast.users import Account
from bucketcast.users.aws import Users
from bucketcast.web.authentication import Authenticator
from bucketcast.web.request import RawRequest
from bucketcast.web.responses import Handler
from bucketcast.web.secure import SecureCalls, secure


def create_app(  # noqa: PLR0913 - one for each option of the gateway
    stack: str,
    table: str,
    aws: Aws,
    *,
    domains: Sequence[str] = (),
    objects: bool = True,
    secure_calls: SecureCalls = "never",
    audit: bool = True,
) -> Starlette:
    """Build the application; without `objects` only common calls about buckets are proxied to S3.

    `secure_calls` says which calls count as sent over TLS. With `audit` calls that change something
    or are refused are logged.
    """
    credentials = CredentialsProvider()
    # Clients are created one by one: creating is not thread-safe, using is.
    _ = aws.cloudformation, aws.events
    region, endpoint = aws.sqs.meta.region_name, aws.s3.meta.endpoint_url
    deployment = outputs_reader(stack, aws)
    users = Users(stack, table, aws.dynamodb, aws.secretsmanager)

    def find_account(access_key: str) -> Account | None:
        with aws_errors():
            return users.find(access_key)

    def read_keys() -> frozenset[str]:
        with aws_errors():
            return frozenset(user.access_key for user in users.all())

    def notify(bucket: str, body: str) -> None:
        """Send a bucket's notification to ingest, unless CloudTrail logs it."""
        if not (deployment().bucket_events and AccessEvents(deployment(), aws).are_enabled(bucket)):
            with aws_errors():
                aws.sqs.send_message(QueueUrl=deployment().ingress_queue, MessageBody=body)

    def answers(call: RawRequest) -> Handler | None:
        return listen.answers(call) or notifications.answers(call)

    accounts = AccountCache(find_account, read_keys)
    authenticator = Authenticator(accounts, domains=tuple(name.lower() for name in domains))
    notifications = Notifications(deployment, aws, region)
    listeners = Listeners(
        stack,
        Table(table, aws.dynamodb),
        aws.sqs,
        lambda: deployment().ingress_queue.rpartition("/")[0],
        kms_key=lambda: deployment().kms_key,
    )
    sqs = Sqs(aws.sqs.meta.endpoint_url, region, credentials)
    listen = Listen(
        listeners,
        lambda listener: Queue(listeners.url(listener), sqs),
        notifications.attach,
        accounts,
        not_heard=lambda: checks.not_heard(deployment(), aws),
        endless=objects,
    )

    def attach_if_heard(bucket: str) -> None:
        """Attach a created bucket, if somebody listens to all."""
        with aws_errors():
            heard = listeners.any_of_all_objects()
        if heard:
            notifications.attach(bucket)

    proxy = Proxy(endpoint, region, credentials)
    forward = BucketEvents(
        proxy, notify, region, attach=attach_if_heard, forget=notifications.forget
    )
    s3 = S3(
        authenticator,
        answers,
        forward,
        objects="" if objects else endpoint,
        preflight=proxy.preflight if objects else None,
    )
    topics = UserTopics(
        TopicTable(table, aws.dynamodb), lambda: topics_of(stack, table, aws), region
    )
    sns = Sns(authenticator, secure(secure_calls), s3, topics)
    admin = Admin(authenticator, accounts, stack, aws)
    app = build(sns, admin.routes(), is_ready=accounts.read_keys)
    app.state.listen = listen
    if audit:
        app.add_middleware(Audit)
    return app
