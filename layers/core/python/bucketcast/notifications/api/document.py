"""A bucket's notification configuration as S3's XML, parsed with MinIO's checks in their order.

The first error in an element is raised at its end; errors between elements are raised at the end of
the document: repeats, functions, then targets. `topics` parses Ceph's `TopicConfiguration`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from xml.etree.ElementTree import Element

from bucketcast.destination import TargetArn
from bucketcast.event import names
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


def read(document: bytes, exists: Callable[[str], bool], region: str) -> Document:
    """Parse a document; `exists` returns True for the ARN of a target, without a region.

    Raises:
        S3Error: the document's first error, in MinIO's words, or Ceph's for topics.
    """
    queues: list[_SentQueue] = []
    notifications: list[Notification] = []
    functions: list[Element] = []
    parts = {
        _QUEUE: lambda element: queues.append(_parse_queue(element)),
        topics.ELEMENT: lambda element: notifications.append(topics.read(element)),
        "CloudFunctionConfiguration": functions.append,
        _EVENTBRIDGE: _refuse_eventbridge,
    }
    xml.read(document, ROOT, parts)
    _require_distinct(queues)
    if functions:
        raise S3Error("UnsupportedNotification")
    return Document([_resolve(queue, exists, region) for queue in queues], notifications)


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


@dataclass
class _SentQueue:
    """A QueueConfiguration as sent, before its ARN is looked up."""

    id: str = ""
    arn: TargetArn | None = None
    events: list[str] = field(default_factory=list)
    filters: list[tuple[str, str]] = field(default_factory=list)


def _parse_queue(element: Element) -> _SentQueue:
    queue = _SentQueue()
    for part in element:
        text = part.text or ""
        match part.tag:
            case "Id":
                queue.id = text
            case "Event":
                if text not in names.SINGLES and text not in names.FAMILIES:
                    raise S3Error("InvalidArgument", _EVENT)
                queue.events.append(text)
            case "Queue":
                queue.arn = _arn(text)
            case "Filter":
                for rule in part.iterfind("S3Key/FilterRule"):
                    queue.filters.append(_filter(rule, queue.filters))
    if not queue.events:
        raise S3Error("MalformedXML")
    if len(set(queue.events)) != len(queue.events):
        raise S3Error("InvalidArgument", _EVENT_TWICE)
    return queue


def _arn(text: str) -> TargetArn:
    try:
        return TargetArn.parse(text)
    except ValueError:
        raise S3Error("InvalidArgument", _ARN) from None


def _filter(rule: Element, before: Sequence[tuple[str, str]]) -> tuple[str, str]:
    filter_names = [part.text for part in rule.iterfind("Name")]
    if not filter_names or not {"prefix", "suffix"}.issuperset(filter_names):
        raise S3Error("InvalidArgument", _FILTER_NAME)
    parts = {part.tag: part.text or "" for part in rule}
    name = parts["Name"]
    if any(name == known for known, _ in before):
        raise S3Error("InvalidArgument", _FILTER_TWICE.format(name))
    return name, parts.get("Value", "")


def _require_distinct(queues: Iterable[_SentQueue]) -> None:
    seen: set[object] = set()
    for queue in queues:
        filters = (queue.id, tuple(queue.filters), tuple(queue.events))
        # An ARN with a region repeats one without.
        same = {(filters, str(queue.arn or "")), (filters, queue.arn.plain if queue.arn else "")}
        if not seen.isdisjoint(same):
            raise S3Error("InvalidArgument", _QUEUE_TWICE)
        seen.add((filters, str(queue.arn or "")))


def _resolve(queue: _SentQueue, exists: Callable[[str], bool], region: str) -> Queue:
    if queue.arn is None:
        raise S3Error("InvalidArgument", _ARN)
    if queue.arn.region not in ("", region):
        raise S3Error("InvalidArgument", _REGION)
    if not exists(queue.arn.plain):
        raise S3Error("InvalidArgument", _ARN)
    return Queue(queue.arn.plain, tuple(queue.events), tuple(queue.filters), queue.id)
