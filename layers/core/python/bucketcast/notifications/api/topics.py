"""Ceph's `TopicConfiguration` as XML, with RGW's checks and element order."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from xml.etree.ElementTree import Element

from bucketcast.destination import TopicArn
from bucketcast.notifications import topic_configuration as notification
from bucketcast.notifications.topic_configuration import FILTERS, Notification, WrongFilterError
from bucketcast.web.errors import S3Error

ELEMENT: Final = "TopicConfiguration"
_RULE: Final = "FilterRule"
Pairs = list[tuple[str, str]]


def read(element: Element) -> Notification:
    """Parse an element.

    Raises:
        S3Error: the first error, if the element is incomplete or invalid.
    """
    id_ = topic = ""
    events: list[str] = []
    filters: dict[str, Pairs] = {name: [] for name in FILTERS}
    for part in element:
        text = part.text or ""
        match part.tag:
            case "Id":
                if not text:
                    raise S3Error(
                        "InvalidArgument", "Id: found an empty one; leave it out or set it"
                    )
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
        return notification.create(topic, id=id_, events=events, filters=filters)
    except WrongFilterError as error:
        raise S3Error("InvalidArgument", f"{ELEMENT} {id_}: {error}") from None


def _read_filters(element: Element, pairs: Mapping[str, Pairs]) -> None:
    for kind in element:
        for rule in kind.iterfind(_RULE) if kind.tag in pairs else ():
            pairs[kind.tag].append(_pair(kind.tag, rule, pairs[kind.tag]))


def _pair(kind: str, rule: Element, before: Pairs) -> tuple[str, str]:
    values = {part.tag: part.text or "" for part in rule}
    if not {"Name", "Value"} <= values.keys():
        raise S3Error("MalformedXML", f"{kind}: found a {_RULE} without Name or Value")
    name, allowed_names = values["Name"], notification.KEY_FILTERS
    if kind == "S3Key" and (name not in allowed_names or any(name == known for known, _ in before)):
        allowed = f"allowed are {', '.join(allowed_names)}, each once"
        raise S3Error("MalformedXML", f"{kind}: found {name!r}; {allowed}")
    return name, values["Value"]


def content(notification: Notification) -> dict[str, Any]:
    """Return the content of the element in RGW's order."""
    filters = {name: rules(pairs) for name, pairs in notification.filters.items()}
    return {
        "Id": notification.id,
        "Topic": notification.topic,
        "Filter": [filters] if filters else [],
        "Event": list(notification.events),
    }


def rules(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the content of a filter with these names and values."""
    return {_RULE: [{"Name": name, "Value": value} for name, value in pairs]}


def _topic(text: str) -> str:
    try:
        return str(TopicArn.parse(text))
    except ValueError as error:
        raise S3Error("InvalidArgument", str(error)) from None
