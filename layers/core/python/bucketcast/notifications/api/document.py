"""A bucket's notification configuration as S3's XML, parsed with MinIO's checks in their order.

Errors within an element are raised when it ends, so the first error of a document wins; errors
between elements are raised at the end: repeats, functions, then targets. Ceph's
`TopicConfiguration` is parsed by `topics`.
"""

from collections.abc import Iterable, Sequence
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
    """One QueueConfiguration; `arn` has no region, `filters` are names and values as given."""

    arn: str
    events: tuple[str, ...]
    filters: tuple[tuple[str, str], ...] = ()
    id: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A document's configurations of targets and topics; neither means: remove all."""

    queues: list[Queue]
    notifications: list[Notification]

    @property
    def empty(self) -> bool:
        return not self.queues and not self.notifications


def read(document: bytes, targets: Iterable[str], region: str) -> Document:
    """Parse a document; `targets` are the existing ARNs, without a region.

    Raises:
        S3Error: its first error, in MinIO's words, or Ceph's about topics.
    """
    queues: list[_Requested] = []
    notifications: list[Notification] = []
    functions: list[Element] = []
    parts = {
        _QUEUE: lambda element: queues.append(_requested(element)),
        topics.ELEMENT: lambda element: notifications.append(topics.read(element)),
        "CloudFunctionConfiguration": functions.append,
    }
    xml.read(document, ROOT, parts)
    _require_distinct(queues)
    if functions:
        raise S3Error("UnsupportedNotification")
    existing = frozenset(targets)
    return Document([_found(each, existing, region) for each in queues], notifications)


def written(queues: Sequence[Queue], notifications: Sequence[Notification] = ()) -> bytes:
    """Write the document of these configurations as MinIO does, then those of topics as Ceph."""
    content = {
        _QUEUE: [_content(each) for each in queues],
        topics.ELEMENT: [topics.content(each) for each in notifications],
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
class _Requested:
    """A QueueConfiguration as sent, before its ARN is looked up."""

    id: str = ""
    arn: TargetArn | None = None
    events: list[str] = field(default_factory=list)
    filters: list[tuple[str, str]] = field(default_factory=list)


def _requested(element: Element) -> _Requested:
    found = _Requested()
    for part in element:
        text = part.text or ""
        match part.tag:
            case "Id":
                found.id = text
            case "Event":
                if text not in names.SINGLES and text not in names.FAMILIES:
                    raise S3Error("InvalidArgument", _EVENT)
                found.events.append(text)
            case "Queue":
                found.arn = _arn(text)
            case "Filter":
                for rule in part.iterfind("S3Key/FilterRule"):
                    found.filters.append(_filter(rule, found.filters))
    if not found.events:
        raise S3Error("MalformedXML")
    if len(set(found.events)) != len(found.events):
        raise S3Error("InvalidArgument", _EVENT_TWICE)
    return found


def _arn(text: str) -> TargetArn:
    try:
        return TargetArn.parse(text)
    except ValueError:
        raise S3Error("InvalidArgument", _ARN) from None


def _filter(rule: Element, before: Sequence[tuple[str, str]]) -> tuple[str, str]:
    said = [part.text for part in rule.iterfind("Name")]
    if not said or not {"prefix", "suffix"}.issuperset(said):
        raise S3Error("InvalidArgument", _FILTER_NAME)
    parts = {part.tag: part.text or "" for part in rule}
    name = parts["Name"]
    if any(name == given for given, _ in before):
        raise S3Error("InvalidArgument", _FILTER_TWICE.format(name))
    return name, parts.get("Value", "")


def _require_distinct(queues: Iterable[_Requested]) -> None:
    seen: set[object] = set()
    for each in queues:
        what = (each.id, tuple(each.filters), tuple(each.events))
        # An ARN with a region repeats one without.
        same = {(what, str(each.arn or "")), (what, each.arn.plain if each.arn else "")}
        if not seen.isdisjoint(same):
            raise S3Error("InvalidArgument", _QUEUE_TWICE)
        seen.add((what, str(each.arn or "")))


def _found(each: _Requested, targets: frozenset[str], region: str) -> Queue:
    if each.arn is None:
        raise S3Error("InvalidArgument", _ARN)
    if each.arn.region not in ("", region):
        raise S3Error("InvalidArgument", _REGION)
    if each.arn.plain not in targets:
        raise S3Error("InvalidArgument", _ARN)
    return Queue(each.arn.plain, tuple(each.events), tuple(each.filters), each.id)
