"""What servers say of a failure, without what is the event's own, and no longer than people read.

A server repeats what it refuses: the document's id is the key, a proxy's page has the request in
it, "Data too long" comes with the data. A reason goes into logs, traces, attributes of dead letters
and to the terminal, which hold no event (`docs/operations.md`).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote, quote_plus

from bucketcast.errors import DeliveryError
from bucketcast.event import Event

LONGEST = 600
"""Characters of a reason, its beginning and its end, where a cure stands."""
_END = 200
HIDDEN = "***"
_SHORT = 4
"""What is shorter is hidden only where it stands in quotes: it may be a part of any word."""
_BEGINNING = 24
"""Servers cut long values; one that begins so is hidden as far as it goes."""
_QUOTES = "\"'`\u2018\u2019\u201c\u201d"


def redact(events: Sequence[Event], failures: Mapping[int, DeliveryError]) -> None:
    """Take out of the errors what is of the events that they are about, and shorten them.

    An error may be that of many places. It stays the same object.
    """
    places: dict[int, list[int]] = {}
    errors: dict[int, DeliveryError] = {}
    for place, error in failures.items():
        places.setdefault(id(error), []).append(place)
        errors[id(error)] = error
    for which, error in errors.items():
        text = str(error)
        shown = shortened(without(text, (events[place] for place in places[which])))
        if shown != text:
            error.args = (shown, *error.args[1:])


def without(text: str, events: Iterable[Event]) -> str:
    """The text with what is of these events hidden."""
    found = {value for event in events for value in _values(event) if _in(value, text)}
    for value in sorted(found, key=len, reverse=True):
        text = _pattern(value).sub(HIDDEN, text)
    return text


def shortened(text: str) -> str:
    """The text, or its beginning and its end."""
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - _END - 3]} … {text[-_END:]}"


def _in(value: str, text: str) -> bool:
    return bool(value) and value[:_BEGINNING] in text


def _pattern(value: str) -> re.Pattern[str]:
    if len(value) < _SHORT:
        return re.compile(f"(?<=[{_QUOTES}]){re.escape(value)}(?=[{_QUOTES}])")
    begin = r"(?<![^\W_])" if value[0].isalnum() else ""
    if len(value) <= _BEGINNING:
        return re.compile(begin + re.escape(value) + (r"(?![^\W_])" if value[-1].isalnum() else ""))
    whole, cut = re.escape(value), re.escape(value[:_BEGINNING])
    return re.compile(rf"{begin}(?:{whole}|{cut}[^\s{_QUOTES}<>]*)")


def _values(event: Event) -> Iterator[str]:
    """What is of an event, each as servers write it; its bucket and its name are no secret."""
    yield from _written(event.key)
    for text in (
        event.etag,
        event.version_id,
        event.sequencer,
        event.principal,
        event.owner,
        event.source_ip,
        event.request_id,
        event.host_id,
        event.user_agent,
    ):
        if text:
            yield text
    for pairs in (event.metadata, event.headers):
        for text in (pairs or {}).values():
            yield from _written(text)
    for _, text in event.tags or ():
        yield from _written(text)


def _written(text: str) -> Iterator[str]:
    """A text as it is, as URLs have it, and as JSON has it."""
    yield text
    if text.isascii() and text.isalnum():
        return
    plain = text.encode(errors="replace")
    yield from {quote(plain), quote(plain, safe=""), quote_plus(plain), quote_plus(plain, safe="/")}
    for ascii_only in (True, False):
        yield json.dumps(text, ensure_ascii=ascii_only)[1:-1]
