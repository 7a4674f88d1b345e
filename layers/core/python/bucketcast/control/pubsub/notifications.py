"""Notifications of a bucket, one per topic: stored as, and visible to, those of the S3 API."""

from collections.abc import Mapping, Sequence
from typing import Final

from bucketcast.aws.rules import Rules
from bucketcast.aws.topics.table import TopicTable
from bucketcast.control.s3.notification import Notifications
from bucketcast.topics import notification
from bucketcast.topics.errors import invalid
from bucketcast.topics.model import Topic, TopicArn
from bucketcast.topics.permissions import may
from bucketcast.topics.policy import GET
from bucketcast.users import User

_EVENTS: Final[Mapping[str, str]] = {
    "OBJECT_CREATE": "s3:ObjectCreated:*",
    "OBJECT_DELETE": "s3:ObjectRemoved:Delete",
    "DELETE_MARKER_CREATE": "s3:ObjectRemoved:DeleteMarkerCreated",
}
"""The names of this API, as the S3 API has them."""
_BEGIN: Final = "pubsub-"


class BucketTopics:
    """Binds topics to buckets."""

    def __init__(self, notifications: Notifications, rules: Rules, topics: TopicTable) -> None:
        self._notifications = notifications
        self._rules = rules
        self._topics = topics

    def bind(self, bucket: str, topic: TopicArn, events: str | None, user: User) -> None:
        """Send a topic the listed events of a bucket, or all.

        Raises:
            TopicError: an event is unknown.
            S3Error: the bucket or topic does not exist, or the user may not use it.
        """
        names = events.split(",") if events else list(_EVENTS)
        for name in names:
            if name not in _EVENTS:
                raise invalid("events", repr(name[:100]), ", ".join(_EVENTS))
        found = notification.of(str(topic), id=_id(topic), events=(_EVENTS[name] for name in names))
        self._notifications.add(bucket, [found], user)

    def unbind(self, bucket: str, topic: TopicArn) -> None:
        """Remove the notification of a topic that `bind` made, if there is one."""
        self._notifications.delete(bucket, _id(topic))

    def of(self, bucket: str, user: User) -> list[tuple[Topic, Sequence[str]]]:
        """Return the topics of a bucket that a user may read, each with its events."""
        self._notifications.exists(bucket)
        named = {event: name for name, event in _EVENTS.items()}
        found: list[tuple[Topic, Sequence[str]]] = []
        for rule in self._rules.in_order(bucket):
            if not notification.is_notification(rule):
                continue
            given = notification.notification(rule)
            topic = self._topics.topic(TopicArn.parse(given.topic))
            if topic and may(user, GET, topic):
                found.append((topic, [named.get(event, event) for event in given.events]))
        return found


def _id(topic: TopicArn) -> str:
    """Return the Id; another tenant's topic of the same name has another one."""
    tenant = f"{topic.tenant}:" if topic.tenant else ""
    return f"{_BEGIN}{tenant}{topic.name}"
