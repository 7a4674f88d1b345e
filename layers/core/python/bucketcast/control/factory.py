"""Build the application of one deployment, for the gateway and for Lambda."""

from collections.abc import Sequence
from typing import Final

from starlette.applications import Starlette

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.aws.credentials import CredentialsProvider
from bucketcast.aws.rules import Rules
from bucketcast.aws.topics.factory import topics_of
from bucketcast.aws.topics.subscriptions import Subscriptions
from bucketcast.aws.topics.table import TopicTable
from bucketcast.aws.users import Users
from bucketcast.control.admin.routes import Admin
from bucketcast.control.app import S3, build
from bucketcast.control.authentication import Authenticator
from bucketcast.control.listen.bucket_events import BucketEvents
from bucketcast.control.listen.factory import ListenFactory
from bucketcast.control.proxy import Proxy
from bucketcast.control.pubsub.actions import PubsubActions
from bucketcast.control.pubsub.deployment import Deployment
from bucketcast.control.pubsub.notifications import BucketTopics
from bucketcast.control.pubsub.routes import Pubsub
from bucketcast.control.request import RawRequest
from bucketcast.control.responses import Handler
from bucketcast.control.s3.notification import Notifications
from bucketcast.control.s3.topic_lookup import TopicLookup
from bucketcast.control.secure import SecureCalls, secure
from bucketcast.control.sns.routes import Sns
from bucketcast.control.user_topics import UserTopics
from bucketcast.control.users import Account, AccountCache

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
    users = Users(stack, table, aws.dynamodb, aws.secretsmanager)

    def find(access_key: str) -> Account | None:
        with aws_errors():
            return users.find(access_key)

    known = AccountCache(find)
    gate = Authenticator(known, region, domains=tuple(name.lower() for name in domains))
    endpoint = logins.endpoint(region)
    notifications = Notifications(stack, aws, region, TopicLookup(aws))
    # Clients are created one by one: creating is not thread-safe, using is.
    _ = aws.cloudformation, aws.s3, aws.sqs, aws.events
    forward = Proxy(endpoint, region, logins)
    place = ListenFactory(stack, table, aws)
    listen = place.listen(notifications, logins, region, known, endless=objects)

    def answers(call: RawRequest) -> Handler | None:
        return listen.answers(call) or notifications.answers(call)

    on = BucketEvents(forward, place.tell_of_bucket, region)
    s3 = S3(gate, answers, on, objects="" if objects else endpoint)
    topics = TopicTable(table, aws.dynamodb)
    has = Deployment(stack, aws)
    user_topics = UserTopics(
        topics, lambda: topics_of(stack, table, aws), region, has.topics_per_user
    )
    actions = PubsubActions(
        user_topics,
        Subscriptions(table, aws.dynamodb),
        has.events,
        BucketTopics(notifications, Rules(table, aws.dynamodb), topics),
    )
    is_secure = secure(secure_calls)
    pubsub = Pubsub(gate, is_secure, s3, actions, has.pull)
    app = build(Sns(gate, is_secure, pubsub, user_topics), Admin(gate, known, stack, aws).routes())
    app.state.listen = listen
    return app
