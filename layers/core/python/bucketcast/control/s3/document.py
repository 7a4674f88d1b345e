"""A bucket's notification configuration as S3's XML, parsed with MinIO's checks in their order.

Errors within an element are raised when it ends, so the first error of a document wins; errors
between elements are raised at the end: repeats, functions, then targets. Ceph's
`TopicConfiguration` is parsed by `control.s3.topics`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final
from xml.sax.saxutils import escape

from bucketcast.arn import Arn
from bucketcast.control import xml
from bucketcast.control.errors import S3Error
from bucketcast.control.s3 import topics
from bucketcast.event import names
from bucketcast.topics.notification import Notification

ROOT: Final = "NotificationConfiguration"
NAMESPACE: Final = "http://s3.amazonaws.com/doc/2006-03-01/"
_QUEUE: Final = (ROOT, "QueueConfiguration")
_TOPIC: Final = (ROOT, topics.ELEMENT)
_RULE: Final = ("Filter", "S3Key", "FilterRule")
_REFUSED: Final = (ROOT, "CloudFunctionConfiguration")
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
    reading = _Reading(region)
    xml.read(document, reading.start, reading.end)
    return Document(reading.checked(frozenset(targets)), reading.notifications)


def written(queues: Sequence[Queue], notifications: Sequence[Notification] = ()) -> bytes:
    """Write the document of these configurations as MinIO does, then those of topics as Ceph."""
    inner = "".join([*map(_written, queues), *map(topics.written, notifications)])
    return f'<{ROOT} xmlns="{NAMESPACE}">{inner}</{ROOT}>'.encode()


def _written(queue: Queue) -> str:
    rules = "".join(
        f"<FilterRule><Name>{name}</Name><Value>{escape(value)}</Value></FilterRule>"
        for name, value in queue.filters
    )
    filters = f"<Filter><S3Key>{rules}</S3Key></Filter>" if rules else ""
    events = "".join(f"<Event>{escape(event)}</Event>" for event in queue.events)
    return (
        f"<QueueConfiguration><Id>{escape(queue.id)}</Id>{filters}{events}"
        f"<Queue>{escape(queue.arn)}</Queue></QueueConfiguration>"
    )


@dataclass
class _Open:
    """A QueueConfiguration that is being parsed."""

    id: str = ""
    arn: Arn | None = None
    events: list[str] = field(default_factory=list)
    filters: list[tuple[str, str]] = field(default_factory=list)
    name: str = ""
    value: str = ""


class _Reading:
    """Receives the elements of a document in their order."""

    def __init__(self, region: str) -> None:
        self._region = region
        self._open = _Open()
        self._queues: list[_Open] = []
        self._unsupported = False
        self._topic = topics.Reading()
        self.notifications: list[Notification] = []

    def start(self, path: tuple[str, ...], _: dict[str, str]) -> None:
        if len(path) == 1 and path[0] != ROOT:
            raise S3Error("MalformedXML")
        if path == _QUEUE:
            self._open = _Open()
        elif path[:2] == _QUEUE and path[2:] == _RULE:
            self._open.name = self._open.value = ""
        elif path == _TOPIC:
            self._topic = topics.Reading()
        elif path[:2] == _TOPIC:
            self._topic.start(path[2:])

    def end(self, path: tuple[str, ...], text: str) -> None:
        if path == _QUEUE:
            self._end_queue()
        elif path[:2] == _QUEUE:
            self._end_part(path[2:], text)
        elif path == _TOPIC:
            self.notifications.append(self._topic.ended())
        elif path[:2] == _TOPIC:
            self._topic.end(path[2:], text)
        elif path == _REFUSED:
            self._unsupported = True

    def checked(self, targets: frozenset[str]) -> list[Queue]:
        seen: set[object] = set()
        for each in self._queues:
            what = (each.id, tuple(each.filters), tuple(each.events))
            # An ARN with a region repeats one without.
            same = {(what, str(each.arn or "")), (what, each.arn.plain if each.arn else "")}
            if not seen.isdisjoint(same):
                raise S3Error("InvalidArgument", _QUEUE_TWICE)
            seen.add((what, str(each.arn or "")))
        if self._unsupported:
            raise S3Error("UnsupportedNotification")
        return [self._known(each, targets) for each in self._queues]

    def _known(self, each: _Open, targets: frozenset[str]) -> Queue:
        if each.arn is None:
            raise S3Error("InvalidArgument", _ARN)
        if each.arn.region not in ("", self._region):
            raise S3Error("InvalidArgument", _REGION)
        if each.arn.plain not in targets:
            raise S3Error("InvalidArgument", _ARN)
        return Queue(each.arn.plain, tuple(each.events), tuple(each.filters), each.id)

    def _end_queue(self) -> None:
        if not self._open.events:
            raise S3Error("MalformedXML")
        if len(set(self._open.events)) != len(self._open.events):
            raise S3Error("InvalidArgument", _EVENT_TWICE)
        self._queues.append(self._open)

    def _end_part(self, inside: tuple[str, ...], text: str) -> None:
        match inside:
            case ("Id",):
                self._open.id = text
            case ("Event",):
                if text not in names.SINGLES and text not in names.FAMILIES:
                    raise S3Error("InvalidArgument", _EVENT)
                self._open.events.append(text)
            case ("Queue",):
                try:
                    self._open.arn = Arn.parse(text)
                except ValueError:
                    raise S3Error("InvalidArgument", _ARN) from None
            case (*parents, "Name") if tuple(parents) == _RULE:
                if text not in ("prefix", "suffix"):
                    raise S3Error("InvalidArgument", _FILTER_NAME)
                self._open.name = text
            case (*parents, "Value") if tuple(parents) == _RULE:
                self._open.value = text
            case _ if inside == _RULE:
                self._end_rule()

    def _end_rule(self) -> None:
        name = self._open.name
        if not name:
            raise S3Error("InvalidArgument", _FILTER_NAME)
        if any(name == given for given, _ in self._open.filters):
            raise S3Error("InvalidArgument", _FILTER_TWICE.format(name))
        self._open.filters.append((name, self._open.value))
