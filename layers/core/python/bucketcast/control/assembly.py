"""The application of one deployment, put together: locally and on Lambda the same."""

from collections.abc import Sequence
from typing import Final

from starlette.applications import Starlette

from bucketcast.control.admin.routes import Admin
from bucketcast.control.answer import Answer
from bucketcast.control.app import S3, build
from bucketcast.control.call import Call
from bucketcast.control.forward import Forward
from bucketcast.control.gate import Gate
from bucketcast.control.listen.buckets import BucketEvents
from bucketcast.control.listen.place import Place
from bucketcast.control.s3.binding import Binding
from bucketcast.control.s3.notification import Notifications
from bucketcast.control.sns.actions import Actions
from bucketcast.control.sns.routes import Sns
from bucketcast.control.sns.secure import SecureCalls, secure
from bucketcast.control.users import Account, Known
from bucketcast.store.access import Aws, explained
from bucketcast.store.login import Logins
from bucketcast.store.topics.items import Items
from bucketcast.store.topics.opened import topics_of
from bucketcast.store.users import Users

_REGION: Final = "us-east-1"


def assemble(
    stack: str,
    table: str,
    aws: Aws,
    *,
    domains: Sequence[str] = (),
    objects: bool = True,
    secure_calls: SecureCalls = "never",
) -> Starlette:
    """Join the parts; without `objects` only what every client asks of buckets goes on to S3.

    `secure_calls` says which calls beside those that came over TLS count as such.
    """
    logins = Logins()
    region = logins.region or _REGION
    users = Users(stack, table, aws.dynamodb, aws.secretsmanager)

    def find(access_key: str) -> Account | None:
        with explained():
            return users.find(access_key)

    known = Known(find)
    gate = Gate(known, region, domains=tuple(name.lower() for name in domains))
    endpoint = logins.endpoint(region)
    notifications = Notifications(stack, aws, region, Binding(aws))
    # Clients are made one after the other: making one is not safe among threads, using one is.
    _ = aws.cloudformation, aws.s3, aws.sqs, aws.events
    forward = Forward(endpoint, region, logins)
    place = Place(stack, table, aws)
    listen = place.listen(notifications, logins, region, known, endless=objects)

    def answers(call: Call) -> Answer | None:
        return listen.answers(call) or notifications.answers(call)

    on = BucketEvents(forward, place.tell_of_bucket, region)
    s3 = S3(gate, answers, on, objects="" if objects else endpoint)
    actions = Actions(Items(table, aws.dynamodb), lambda: topics_of(stack, table, aws), region)
    app = build(
        Sns(gate, actions, secure(secure_calls), s3),
        Admin(gate, known, stack, aws).routes(),
    )
    app.state.listen = listen
    return app
