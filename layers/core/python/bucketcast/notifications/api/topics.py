"""Ceph's `TopicConfiguration` as XML, parsed with RGW's checks and written as by RGW."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from xml.etree.ElementTree import Element

from bucketcast.destination import TopicArn
from bucketcast.notifications import topic_configuration as notification
from bucketcast.notifications.topic_configuration import Notification, WrongFilterError
from bucketcast.web.errors import S3Error

ELEMENT: Final = "TopicConfiguration"
_FILTERS: Final = ("S3Key", "S3Metadata", "S3Tags")
_RULE: Final = "FilterRule"
Pairs = list[tuple[str, str]]


def read(element: Element) -> Notification:
    """Return the notification of an element; its first error is the one reported.

    Raises:
        S3Error: it is incomplete or invalid.
    """
    id_ = topic = ""
    events: list[str] = []
    filters: dict[str, Pairs] = {name: [] for name in _FILTERS}
    for part in element:
        text = part.text or ""
        match part.tag:
            case "Id":
                if not text:
                    raise S3Error("InvalidArgument", "Id: found an empty one; leave it out or say")
                id_ = text
            case "Topic":
                topic = _topic(text)
            case "Event":
                events.append(text)
            case "Filter":
                _read_filters(part, filters)
    if not topic:
        raise S3Error("MalformedXML", f"{ELEMENT}: found no Topic")
    try:
        return notification.of(
            topic,
            id=id_,
            events=events,
            key=filters["S3Key"],
            metadata=filters["S3Metadata"],
            tags=filters["S3Tags"],
        )
    except WrongFilterError as error:
        raise S3Error("InvalidArgument", f"{ELEMENT} {id_}: {error}") from None


def _read_filters(element: Element, found: Mapping[str, Pairs]) -> None:
    for kind in element:
        for rule in kind.iterfind(_RULE) if kind.tag in found else ():
            found[kind.tag].append(_pair(kind.tag, rule, found[kind.tag]))


def _pair(kind: str, rule: Element, before: Pairs) -> tuple[str, str]:
    said = {part.tag: part.text or "" for part in rule}
    if not {"Name", "Value"} <= said.keys():
        raise S3Error("MalformedXML", f"{kind}: found a {_RULE} without Name or Value")
    name, known = said["Name"], notification.KEY_FILTERS
    if kind == "S3Key" and (name not in known or any(name == given for given, _ in before)):
        allowed = f"allowed are {', '.join(known)}, each once"
        raise S3Error("MalformedXML", f"{kind}: found {name!r}; {allowed}")
    return name, said["Value"]


def content(given: Notification) -> dict[str, Any]:
    """Return the content of the element as RGW writes it."""
    parts = zip(_FILTERS, (given.key, given.metadata, given.tags), strict=True)
    filters = {name: rules(pairs) for name, pairs in parts if pairs}
    return {
        "Id": given.id,
        "Topic": given.topic,
        "Filter": [filters] if filters else [],
        "Event": list(given.events),
    }


def rules(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the content of a filter with these names and values."""
    return {_RULE: [{"Name": name, "Value": value} for name, value in pairs]}


def _topic(text: str) -> str:
    try:
        return str(TopicArn.parse(text))
    except ValueError as error:
        raise S3Error("InvalidArgument", str(error)) from None
