"""Build the application of one deployment, for the gateway and for Lambda."""

from collections.abc import Sequence
from functools import cache
from typing import Final

from starlette.applications import Starlette

from bucketcast.aws import deployed
from bucketcast.aws.attach.access_events import AccessEvents
from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.aws.credentials import CredentialsProvider
from bucketcast.aws.deployed import Deployed
from bucketcast.aws.listeners import Listeners, Table
from bucketcast.aws.topics.factory import topics_of
from bucketcast.aws.topics.table import TopicTable
from bucketcast.aws.users import Users
from bucketcast.control.account_cache import AccountCache
from bucketcast.control.admin.routes import Admin
from bucketcast.control.app import S3, build
from bucketcast.control.authentication import Authenticator
from bucketcast.control.listen.api import Listen
from bucketcast.control.listen.bucket_events import BucketEvents
from bucketcast.control.listen.queue import Queue, Sqs
from bucketcast.control.proxy import Proxy
from bucketcast.control.request import RawRequest
from bucketcast.control.responses import Handler
from bucketcast.control.s3.notification import Notifications
from bucketcast.control.secure import SecureCalls, secure
from bucketcast.control.sns.api import Sns
from bucketcast.control.user_topics import UserTopics
from bucketcast.users import Account

_REGION: Final = "us-east-1"


def create_app(
    stack: str,
    table: str,
    aws: Aws,
    *,
    domains: Sequence[str] = (),
    objects: bool = True,
    secure_calls: SecureCalls = "never",
) -> Starlette:
    """Build the application; without `objects` only common calls about buckets are proxied to S3.

    `secure_calls` says which calls count as sent over TLS.
    """
    logins = CredentialsProvider()
    region = logins.region or _REGION
    endpoint = logins.endpoint(region)
    users = Users(stack, table, aws.dynamodb, aws.secretsmanager)

    def find(access_key: str) -> Account | None:
        with aws_errors():
            return users.find(access_key)

    @cache
    def there() -> Deployed:
        return deployed.find(stack, aws)

    def notify(bucket: str, body: str) -> None:
        """Send a bucket's notification to ingest, unless CloudTrail logs it."""
        if not (there().bucket_events and AccessEvents(there(), aws).are_on(bucket)):
            with aws_errors():
                aws.sqs.send_message(QueueUrl=there().ingress_queue, MessageBody=body)

    def answers(call: RawRequest) -> Handler | None:
        return listen.answers(call) or notifications.answers(call)

    accounts = AccountCache(find)
    gate = Authenticator(accounts, region, domains=tuple(name.lower() for name in domains))
    # Clients are created one by one: creating is not thread-safe, using is.
    _ = aws.cloudformation, aws.s3, aws.sqs, aws.events
    notifications = Notifications(stack, aws, region)
    listeners = Listeners(
        stack,
        Table(table, aws.dynamodb),
        aws.sqs,
        lambda: there().ingress_queue.rpartition("/")[0],
        kms_key=lambda: there().kms_key,
    )
    sqs = Sqs(aws.sqs.meta.endpoint_url, region, logins)
    listen = Listen(
        listeners,
        lambda one: Queue(listeners.url(one), sqs),
        notifications.attach,
        accounts,
        endless=objects,
    )
    forward = BucketEvents(Proxy(endpoint, region, logins), notify, region)
    s3 = S3(gate, answers, forward, objects="" if objects else endpoint)
    topics = UserTopics(
        TopicTable(table, aws.dynamodb), lambda: topics_of(stack, table, aws), region
    )
    sns = Sns(gate, secure(secure_calls), s3, topics)
    app = build(sns, Admin(gate, accounts, stack, aws).routes())
    app.state.listen = listen
    return app
