"""Trace ids in the logs, by which `bucketcast trace` follows an event.

One JSON line per batch and stage. A trace id is ten hex digits of a hash of the object and the
event's time of day, so a line holds thousands of events and reveals no key::

    {"trace": "received", "at": 1800000000000, "ids": "a1b2c3d4e5@03:04:05.678 …",
     "to": {"ARN RULE": [0, 2], …}}
    {"trace": "dispatched", "at": …, "target": "ARN", "result": "delivered", "ids": "id id#3 …"}
    {"trace": "dispatched", "at": …, "target": "ARN", "result": "retried", "ids": "id#2+8 …",
     "stage": "connect", "reason": "…"}
    {"trace": "dropped", "at": …, "target": "ARN", "ids": "id …"}

`at` is Unix ms: ingest writes its line when a quick target may have the event already. `to` lists
the indexes of the ids that a rule matched; an id in no list matched nothing. `#2+8` is the second
try of an event, of which the next comes in 8 s. A failure has its stage (`DeliveryError.stage`).
Ingest drops events for a target that does not exist.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from bucketcast.destination import ListenerArn
from bucketcast.event import OBJECT_DIGITS, Event
from bucketcast.rules import Hit

TRACE_IDS_A_LINE = 5_000
LINE_BYTES = 250_000
"""A log event of CloudWatch may have 256 KiB."""
_encode = msgspec.json.Encoder().encode


class Received(msgspec.Struct, tag_field="trace", tag="received", omit_defaults=True):
    """The events of an ingest batch, and the targets of the rules they matched."""

    at: int
    ids: str
    to: dict[str, list[int]] = {}


class Dispatched(msgspec.Struct, tag_field="trace", tag="dispatched", omit_defaults=True):
    """Tries of a batch at one target with the same result: delivered, retried or dead."""

    at: int
    target: str
    result: str
    ids: str
    stage: str = ""
    reason: str = ""


class Dropped(msgspec.Struct, tag_field="trace", tag="dropped"):
    """Events of an ingest batch for a target that does not exist."""

    at: int
    target: str
    ids: str


Line = Received | Dispatched | Dropped
_line: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


def trace_id(event: Event) -> str:
    """Return the trace id of an event."""
    # To ask the property each time would take a sixth longer.
    return f"{(event.known_id or event.id)[:OBJECT_DIGITS]}@{event.time[11:23]}"


def received(matches: Sequence[tuple[Event, Collection[Hit]]], at: int) -> Iterator[str]:
    """Return the log lines of an ingest batch that began `at` (Unix ms), without listeners."""
    for start in range(0, len(matches), TRACE_IDS_A_LINE):
        yield from _received(matches[start : start + TRACE_IDS_A_LINE], at)


def _received(matches: Sequence[tuple[Event, Collection[Hit]]], at: int) -> Iterator[str]:
    """Return the log line of these events, or those of halves if it would be too long."""
    to: dict[str, list[int]] = {}
    for index, (_, hits) in enumerate(matches):
        for hit in hits:
            if isinstance(hit.to, ListenerArn):
                continue
            to.setdefault(f"{hit.to.arn} {hit.rule}", []).append(index)
    line = _encode_line(Received(at, " ".join(trace_id(event) for event, _ in matches), to))
    if len(line.encode()) <= LINE_BYTES or len(to) <= 1:
        yield line
        return
    if len(matches) == 1:
        ((event, hits),) = matches
        named = [hit for hit in hits if not isinstance(hit.to, ListenerArn)]
        matches = [(event, named[::2]), (event, named[1::2])]
    middle = len(matches) // 2
    yield from _received(matches[:middle], at)
    yield from _received(matches[middle:], at)


class Try(NamedTuple):
    """Which try of an event failed, and the seconds until the next, 0 if none follows."""

    event: Event
    number: int = 1
    pause: int = 0

    def __str__(self) -> str:
        return f"{trace_id(self.event)}#{self.number}+{self.pause}"


Tries = dict[tuple[str, str], list[Try]]
"""Failed tries by stage and reason."""


class Outcomes(msgspec.Struct):
    """The tries of a batch by outcome; `delivered` are events by the number of their try."""

    delivered: dict[int, list[Event]] = msgspec.field(default_factory=dict)
    retried: Tries = msgspec.field(default_factory=dict)
    dead: Tries = msgspec.field(default_factory=dict)


def dispatched(target: str, outcomes: Outcomes, at: int) -> Iterator[str]:
    """Return the log lines of a dispatch batch, `at` Unix ms."""
    for number, events in outcomes.delivered.items():
        again = f"#{number}" if number > 1 else ""
        for ids in _parts([*map(trace_id, events)], again):
            yield _encode_line(Dispatched(at, target, "delivered", ids))
    for result, failed in (("retried", outcomes.retried), ("dead", outcomes.dead)):
        for (stage, reason), tries in failed.items():
            for ids in _parts([*map(str, tries)]):
                yield _encode_line(Dispatched(at, target, result, ids, stage, reason))


def dropped(target: str, events: Sequence[Event], at: int) -> Iterator[str]:
    """Return the log lines of events that ingest drops, `at` Unix ms."""
    ids = [*map(trace_id, events)]
    yield from (_encode_line(Dropped(at, target, part)) for part in _parts(ids))


def read(text: str) -> Line | None:
    """Parse a log line; None if it is no trace."""
    with suppress(msgspec.MsgspecError):
        return _line.decode(text)
    return None


def _parts(ids: Sequence[str], again: str = "") -> Iterator[str]:
    """Yield the ids of each line, with `again` behind each of them."""
    for start in range(0, len(ids), TRACE_IDS_A_LINE):
        yield f"{again} ".join(ids[start : start + TRACE_IDS_A_LINE]) + again


def _encode_line(line: Line) -> str:
    return _encode(line).decode()
