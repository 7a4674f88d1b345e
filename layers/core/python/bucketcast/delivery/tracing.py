"""Trace ids in the logs, by which `bucketcast trace` follows an event.

One JSON line per batch and stage. A trace id is ten hex digits of a hash of the object and the
event's time of day, so a line holds thousands of events and reveals no key::

    {"trace": "received", "ids": "a1b2c3d4e5@03:04:05.678 …", "to": {"ARN RULE": [0, 2], …}}
    {"trace": "dispatched", "target": "ARN", "delivered": "id …", "retried": {"reason": "id …"},
     "dead": {"reason": "id …"}}
    {"trace": "dropped", "target": "ARN", "ids": "id …"}

`to` lists the indexes of the ids that a rule matched; an id in no list matched nothing.
Ingest drops events for a target that does not exist.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

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

    ids: str
    to: dict[str, list[int]] = {}


class Dispatched(msgspec.Struct, tag_field="trace", tag="dispatched", omit_defaults=True):
    """The outcomes of a batch at one target."""

    target: str
    delivered: str = ""
    retried: dict[str, str] = {}
    dead: dict[str, str] = {}


class Dropped(msgspec.Struct, tag_field="trace", tag="dropped"):
    """Events of an ingest batch for a target that does not exist."""

    target: str
    ids: str


Line = Received | Dispatched | Dropped
_line: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


def trace_id(event: Event) -> str:
    """Return the trace id of an event."""
    return f"{event.id[:OBJECT_DIGITS]}@{event.time[11:23]}"


def received(matches: Sequence[tuple[Event, Collection[Hit]]]) -> Iterator[str]:
    """Return the log lines of an ingest batch, without listeners."""
    for start in range(0, len(matches), TRACE_IDS_A_LINE):
        yield from _received(matches[start : start + TRACE_IDS_A_LINE])


def _received(matches: Sequence[tuple[Event, Collection[Hit]]]) -> Iterator[str]:
    """Return the log line of these events, or those of halves if it would be too long."""
    to: dict[str, list[int]] = {}
    for index, (_, hits) in enumerate(matches):
        for hit in hits:
            if isinstance(hit.to, ListenerArn):
                continue
            to.setdefault(f"{hit.to.arn} {hit.rule}", []).append(index)
    line = _encode_line(Received(_trace_ids(event for event, _ in matches), to))
    if len(line.encode()) <= LINE_BYTES or len(to) <= 1:
        yield line
        return
    if len(matches) == 1:
        ((event, hits),) = matches
        named = [hit for hit in hits if not isinstance(hit.to, ListenerArn)]
        matches = [(event, named[::2]), (event, named[1::2])]
    middle = len(matches) // 2
    yield from _received(matches[:middle])
    yield from _received(matches[middle:])


@dataclass(slots=True)
class Outcomes:
    """The events of a batch by outcome; failures also by reason."""

    delivered: list[Event] = field(default_factory=list)
    retried: dict[str, list[Event]] = field(default_factory=dict)
    dead: dict[str, list[Event]] = field(default_factory=dict)


def dispatched(target: str, outcomes: Outcomes) -> Iterator[str]:
    """Return the log lines of a dispatch batch."""
    for ids in _parts(outcomes.delivered):
        yield _encode_line(Dispatched(target, ids))
    for reason, events in outcomes.retried.items():
        yield from (_encode_line(Dispatched(target, retried={reason: i})) for i in _parts(events))
    for reason, events in outcomes.dead.items():
        yield from (_encode_line(Dispatched(target, dead={reason: i})) for i in _parts(events))


def dropped(target: str, events: Sequence[Event]) -> Iterator[str]:
    """Return the log lines of events that ingest drops."""
    yield from (_encode_line(Dropped(target, ids)) for ids in _parts(events))


def read(text: str) -> Line | None:
    """Parse a log line; None if it is no trace."""
    with suppress(msgspec.MsgspecError):
        return _line.decode(text)
    return None


def _parts(events: Sequence[Event]) -> Iterator[str]:
    for start in range(0, len(events), TRACE_IDS_A_LINE):
        yield _trace_ids(events[start : start + TRACE_IDS_A_LINE])


def _trace_ids(events: Iterable[Event]) -> str:
    return " ".join(map(trace_id, events))


def _encode_line(line: Line) -> str:
    return _encode(line).decode()
