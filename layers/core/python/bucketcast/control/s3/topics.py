"""Ceph's `TopicConfiguration` as XML, parsed with RGW's checks and written as by RGW."""

from collections.abc import Iterable
from typing import Final
from xml.sax.saxutils import escape

from bucketcast.control.errors import S3Error
from bucketcast.topics import notification
from bucketcast.topics.errors import TopicError
from bucketcast.topics.model import TopicArn
from bucketcast.topics.notification import Notification, WrongFilterError

ELEMENT: Final = "TopicConfiguration"
_FILTERS: Final = ("S3Key", "S3Metadata", "S3Tags")
_RULE: Final = "FilterRule"


class Reading:
    """Receives the elements of one `TopicConfiguration` in order; paths are relative to it."""

    def __init__(self) -> None:
        self._id: str | None = None
        self._topic: str | None = None
        self._events: list[str] = []
        self._filters: dict[str, list[tuple[str, str]]] = {name: [] for name in _FILTERS}
        self._rule: dict[str, str] = {}

    def start(self, path: tuple[str, ...]) -> None:
        """Handle the start of an element."""
        if path[-1] == _RULE:
            self._rule = {}

    def end(self, path: tuple[str, ...], text: str) -> None:
        """Handle the end of an element with its text.

        Raises:
            S3Error: it is invalid.
        """
        match path:
            case ("Id",):
                if not text:
                    raise S3Error("InvalidArgument", "Id: found an empty one; leave it out or say")
                self._id = text
            case ("Topic",):
                self._topic = _topic(text)
            case ("Event",):
                self._events.append(text)
            case ("Filter", name, "FilterRule", part) if name in _FILTERS:
                self._rule[part] = text
            case ("Filter", name, "FilterRule") if name in _FILTERS:
                self._filters[name].append(self._pair(name))

    def ended(self) -> Notification:
        """Return the parsed notification.

        Raises:
            S3Error: it is incomplete or invalid.
        """
        if self._topic is None:
            raise S3Error("MalformedXML", f"{ELEMENT}: found no Topic")
        try:
            return notification.of(
                self._topic,
                id=self._id or "",
                events=self._events,
                key=self._filters["S3Key"],
                metadata=self._filters["S3Metadata"],
                tags=self._filters["S3Tags"],
            )
        except WrongFilterError as error:
            raise S3Error("InvalidArgument", f"{ELEMENT} {self._id or ''}: {error}") from None

    def _pair(self, name: str) -> tuple[str, str]:
        if not {"Name", "Value"} <= self._rule.keys():
            raise S3Error("MalformedXML", f"{name}: found a {_RULE} without Name or Value")
        pair = (self._rule["Name"], self._rule["Value"])
        if name == "S3Key":
            known = notification.KEY_FILTERS
            if pair[0] not in known or any(pair[0] == given for given, _ in self._filters[name]):
                allowed = f"allowed are {', '.join(known)}, each once"
                raise S3Error("MalformedXML", f"{name}: found {pair[0]!r}; {allowed}")
        return pair


def written(given: Notification) -> str:
    """Write the element as RGW does."""
    parts = zip(_FILTERS, (given.key, given.metadata, given.tags), strict=True)
    filters = "".join(f"<{name}>{_rules(pairs)}</{name}>" for name, pairs in parts if pairs)
    events = "".join(f"<Event>{escape(event)}</Event>" for event in given.events)
    return (
        f"<{ELEMENT}><Id>{escape(given.id)}</Id><Topic>{escape(given.topic)}</Topic>"
        f"{f'<Filter>{filters}</Filter>' if filters else ''}{events}</{ELEMENT}>"
    )


def _rules(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(
        f"<{_RULE}><Name>{escape(name)}</Name><Value>{escape(value)}</Value></{_RULE}>"
        for name, value in pairs
    )


def _topic(text: str) -> str:
    try:
        return str(TopicArn.parse(text))
    except TopicError as error:
        raise S3Error("InvalidArgument", str(error)) from None
