"""A bucket's notification configuration as S3's XML, parsed with MinIO's checks.

`topics` parses Ceph's `TopicConfiguration`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from xml.etree.ElementTree import Element

from bucketcast.destination import TargetArn
from bucketcast.event import names
from bucketcast.limits import MOST_BUCKET_NOTIFICATIONS
from bucketcast.notifications.api import topics
from bucketcast.notifications.topic_configuration import Notification
from bucketcast.web import xml
from bucketcast.web.errors import S3Error

ROOT: Final = "NotificationConfiguration"
NAMESPACE: Final = "http://s3.amazonaws.com/doc/2006-03-01/"
_QUEUE: Final = "QueueConfiguration"
_EVENTBRIDGE: Final = "EventBridgeConfiguration"
# MinIO's messages: `mc` recognises some of them.
_EVENT: Final = "A specified event is not supported for notifications."
_ARN: Final = (
    "A specified destination ARN does not exist or is not well-formed. Verify the destination ARN."
)
_REGION: Final = (
    "A specified destination is in a different region than the bucket. You must use a destination "
    "that resides in the same region as the bucket."
)
_FILTER_NAME: Final = "filter rule name must be either prefix or suffix"
_FILTER_TWICE: Final = "Cannot specify more than one {} rule in a filter."
_EVENT_TWICE: Final = (
    "Configurations overlap. Configurations on the same bucket cannot share a common event type."
)
_QUEUE_TWICE: Final = (
    "An object key name filtering rule defined with overlapping prefixes, overlapping suffixes, or "
    "overlapping combinations of prefixes and suffixes for the same event types."
)


@dataclass(frozen=True, slots=True)
class Queue:
    """One QueueConfiguration; `arn` has no region, `filters` are names and values as sent."""

    arn: str
    events: tuple[str, ...]
    filters: tuple[tuple[str, str], ...] = ()
    id: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A document's configurations of targets and topics; an empty document removes all."""

    queues: list[Queue]
    notifications: list[Notification]

    @property
    def empty(self) -> bool:
        return not self.queues and not self.notifications


def read(document: bytes, exists: Callable[[str], bool], region: str | None) -> Document:
    """Parse a document; `exists` returns True for the ARN of a target, without a region.

    ARNs may have this `region`, or any if it is None.

    Raises:
        S3Error: the document's first error, in MinIO's words, or Ceph's for topics.
    """
    queues: list[Queue] = []
    notifications: list[Notification] = []
    parts = {
        _QUEUE: lambda element: queues.append(_read_queue(element, exists, region)),
        topics.ELEMENT: lambda element: _add(notifications, topics.read(element)),
        "CloudFunctionConfiguration": _refuse_function,
        _EVENTBRIDGE: _refuse_eventbridge,
    }
    xml.read(document, ROOT, parts)
    if len(set(queues)) != len(queues):
        raise S3Error("InvalidArgument", _QUEUE_TWICE)
    return Document(queues, notifications)


def _add(notifications: list[Notification], notification: Notification) -> None:
    """Add one, unless there are too many: each costs time to read."""
    if len(notifications) == MOST_BUCKET_NOTIFICATIONS:
        most = f"allowed are {MOST_BUCKET_NOTIFICATIONS:,} notifications of topics"
        raise S3Error("InvalidArgument", most)
    notifications.append(notification)


def _refuse_function(_: Element) -> None:
    raise S3Error("UnsupportedNotification")


def _refuse_eventbridge(_: Element) -> None:
    raise S3Error(
        "NotImplemented",
        f"{_EVENTBRIDGE}: S3 sends a bucket's events to EventBridge after `bucketcast bucket "
        "attach --via eventbridge`, or by a call of S3 itself",
    )


def write(queues: Sequence[Queue], notifications: Sequence[Notification] = ()) -> bytes:
    """Write a document with MinIO's configurations, then Ceph's of topics."""
    content = {
        _QUEUE: [_content(entry) for entry in queues],
        topics.ELEMENT: [
            topics.content(entry) for entry in sorted(notifications, key=lambda entry: entry.id)
        ],
    }
    return xml.write(ROOT, content, NAMESPACE).encode()


def _content(queue: Queue) -> dict[str, Any]:
    return {
        "Id": queue.id,
        "Filter": [{"S3Key": topics.rules(queue.filters)}] if queue.filters else [],
        "Event": list(queue.events),
        "Queue": queue.arn,
    }


def _read_queue(element: Element, exists: Callable[[str], bool], region: str | None) -> Queue:
    id_ = arn = ""
    events: list[str] = []
    filters: list[tuple[str, str]] = []
    for part in element:
        text = part.text or ""
        match part.tag:
            case "Id":
                id_ = text
            case "Event":
                if text not in names.SINGLES and text not in names.FAMILIES:
                    raise S3Error("InvalidArgument", _EVENT)
                events.append(text)
            case "Queue":
                arn = text
            case "Filter":
                for rule in part.iterfind("S3Key/FilterRule"):
                    filters.append(_filter(rule, filters))
    if not events:
        raise S3Error("MalformedXML")
    if len(set(events)) != len(events):
        raise S3Error("InvalidArgument", _EVENT_TWICE)
    return Queue(_target(arn, exists, region), tuple(events), tuple(filters), id_)


def _target(text: str, exists: Callable[[str], bool], region: str | None) -> str:
    """Return an ARN without its region."""
    try:
        arn = TargetArn.parse(text)
    except ValueError:
        raise S3Error("InvalidArgument", _ARN) from None
    if region is not None and arn.region not in ("", region):
        raise S3Error("InvalidArgument", _REGION)
    if not exists(arn.plain):
        raise S3Error("InvalidArgument", _ARN)
    return arn.plain


def _filter(rule: Element, before: Sequence[tuple[str, str]]) -> tuple[str, str]:
    filter_names = [part.text for part in rule.iterfind("Name")]
    if not filter_names or not {"prefix", "suffix"}.issuperset(filter_names):
        raise S3Error("InvalidArgument", _FILTER_NAME)
    parts = {part.tag: part.text or "" for part in rule}
    name = parts["Name"]
    if any(name == known for known, _ in before):
        raise S3Error("InvalidArgument", _FILTER_TWICE.format(name))
    return name, parts.get("Value", "")
