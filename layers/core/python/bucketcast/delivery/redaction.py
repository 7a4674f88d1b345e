"""Servers' error messages without secrets or data of the events, and of a readable length.

A server repeats what it refuses: the document's id is the key, a proxy's page contains the request
with its Authorization header, "Data too long" comes with the data. Reasons go into logs, traces,
attributes of dead letters and to the terminal, none of which may hold an event or a secret
(`docs/operations.md`).
"""

import html
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote, quote_plus

from bucketcast.errors import DeliveryError
from bucketcast.event import Event

LONGEST = 600
"""Characters of a reason, its beginning and its end, where a hint stands."""
_END = 200
HIDDEN = "***"
_SHORT = 4
"""What is shorter is hidden only where it stands in quotes: it may be a part of any word."""
_BEGINNING = 24
"""Servers cut long values; one that begins so is hidden as far as it goes."""
_QUOTES = "\"'`\u2018\u2019\u201c\u201d"


def redact(
    events: Sequence[Event], failures: Mapping[int, DeliveryError], secrets: Collection[str] = ()
) -> None:
    """Redact the errors of these events, and shorten their texts; `secrets` are the target's.

    One error may belong to several positions. It stays the same object.
    """
    indexes: dict[int, list[int]] = {}
    errors: dict[int, DeliveryError] = {}
    for index, error in failures.items():
        indexes.setdefault(id(error), []).append(index)
        errors[id(error)] = error
    for id_, error in errors.items():
        own, text = [events[index] for index in indexes[id_]], str(error)
        redacted = shorten(hide_data(hide_secrets(text, secrets), own))
        if redacted != text:
            error.args = (redacted, *error.args[1:])
        if error.answer:
            error.answer = hide_data(hide_secrets(error.answer, secrets), own)


def hide_data(text: str, events: Iterable[Event]) -> str:
    """Return the text with all data of these events hidden."""
    events = list(events)
    values = {value for event in events for value in _values(event) if _is_in(value, text)}
    for value in sorted(values, key=len, reverse=True):
        text = _pattern(value).sub(HIDDEN, text)
    # Only now: a key with an address in it would not be found any more.
    for address in {event.source_ip for event in events if event.source_ip}:
        text = _address(address).sub(HIDDEN, text)
    return text


def hide_secrets(text: str, secrets: Collection[str]) -> str:
    """Return the text with these secrets hidden, also one that the server cut."""
    spellings = {each for secret in secrets for each in _spellings(secret)}
    for value in sorted(spellings, key=len, reverse=True):
        if _is_in(value, text):
            text = text.replace(value, HIDDEN)
            text = _pattern(value).sub(HIDDEN, text)
    return text


def shorten(text: str) -> str:
    """Return the text, or its beginning and end."""
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - _END - 3]} … {text[-_END:]}"


def _is_in(value: str, text: str) -> bool:
    return bool(value) and value[:_BEGINNING] in text


def _pattern(value: str) -> re.Pattern[str]:
    if len(value) < _SHORT:
        return re.compile(f"(?<=[{_QUOTES}]){re.escape(value)}(?=[{_QUOTES}])")
    begin = r"(?<![^\W_])" if value[0].isalnum() else ""
    if len(value) <= _BEGINNING:
        return re.compile(begin + re.escape(value) + (r"(?![^\W_])" if value[-1].isalnum() else ""))
    whole, cut = re.escape(value), re.escape(value[:_BEGINNING])
    return re.compile(rf"{begin}(?:{whole}|{cut}[^\s{_QUOTES}<>]*)")


def _address(source_ip: str) -> re.Pattern[str]:
    """Match an event's source IP, but not the address of a server, which may be the same."""
    part = r"\w.:\[" if ":" in source_ip else r"\w.\["
    return re.compile(rf"(?<![{part}])(?<!//){re.escape(source_ip)}(?!\w|:\d|\.\d|\]:)")


def _values(event: Event) -> Iterator[str]:
    """Yield the data of an event as servers write it; bucket and event name are no secret."""
    yield from _spellings(event.key)
    for text in (
        event.etag,
        event.version_id,
        event.sequencer,
        event.principal,
        event.owner,
        event.request_id,
        event.host_id,
        event.user_agent,
    ):
        if text:
            yield text
    for pairs in (event.metadata, event.headers):
        for text in (pairs or {}).values():
            yield from _spellings(text)
    for _, text in event.tags or ():
        yield from _spellings(text)


def _spellings(text: str) -> Iterator[str]:
    """Yield a text as it is, URL-encoded, as HTML, and as JSON."""
    yield text
    if text.isascii() and text.isalnum():
        return
    plain = text.encode(errors="replace")
    yield from {quote(plain), quote(plain, safe=""), quote_plus(plain), quote_plus(plain, safe="/")}
    yield html.escape(text)
    for ascii_only in (True, False):
        encoded = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield from (encoded, encoded.replace("/", r"\/"))
