"""Marks in the logs by which `bucketcast trace` finds again where an event went.

A line a batch and stage, as JSON. A mark is ten hex digits of its object's hash and the event's
time of day, so that a line holds thousands of events and no key can be read from it::

    {"trace": "received", "marks": "a1b2c3d4e5@03:04:05.678 …", "to": {"ARN RULE": [0, 2], …}}
    {"trace": "dispatched", "target": "ARN", "delivered": "mark …", "retried": {"reason": "mark …"},
     "dead": {"reason": "mark …"}}

`to` has the places of the marks that a rule sent on; a mark in no list went nowhere.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import msgspec

from bucketcast.event import Event
from bucketcast.rules import Hit

MARKS_A_LINE = 5_000
"""A log event of CloudWatch may have 256 KiB."""
_encode = msgspec.json.Encoder().encode


class Received(msgspec.Struct, tag_field="trace", tag="received", omit_defaults=True):
    """What ingest read in a batch, and to whom the rules sent it."""

    marks: str
    to: dict[str, list[int]] = {}


class Dispatched(msgspec.Struct, tag_field="trace", tag="dispatched", omit_defaults=True):
    """What became of the events of a batch at one target."""

    target: str
    delivered: str = ""
    retried: dict[str, str] = {}
    dead: dict[str, str] = {}


Line = Received | Dispatched
_line: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


def of_object(bucket: str, key: str) -> str:
    """What every mark of an object begins with."""
    return blake2b(f"{bucket}\0{key}".encode(errors="surrogatepass"), digest_size=5).hexdigest()


def mark(event: Event) -> str:
    """The mark of an event."""
    return f"{of_object(event.bucket, event.key)}@{event.time[11:23]}"


def received(asked: Sequence[tuple[Event, Collection[Hit]]]) -> Iterator[str]:
    """Lines about a batch of ingest's."""
    for start in range(0, len(asked), MARKS_A_LINE):
        part = asked[start : start + MARKS_A_LINE]
        to: dict[str, list[int]] = {}
        for place, (_, hits) in enumerate(part):
            for arn, rule, _ in hits:
                to.setdefault(f"{arn} {rule}", []).append(place)
        yield _written(Received(_marks(event for event, _ in part), to))


@dataclass(slots=True)
class Fates:
    """What became of the events of a batch at a target; failures by their reason."""

    delivered: list[Event] = field(default_factory=list)
    retried: dict[str, list[Event]] = field(default_factory=dict)
    dead: dict[str, list[Event]] = field(default_factory=dict)


def dispatched(target: str, fates: Fates) -> Iterator[str]:
    """Lines about a batch of dispatch's."""
    for marks in _parts(fates.delivered):
        yield _written(Dispatched(target, marks))
    for reason, events in fates.retried.items():
        yield from (_written(Dispatched(target, retried={reason: m})) for m in _parts(events))
    for reason, events in fates.dead.items():
        yield from (_written(Dispatched(target, dead={reason: m})) for m in _parts(events))


def read(text: str) -> Line | None:
    """A line of a log, if it is one of these."""
    try:
        return _line.decode(text)
    except msgspec.MsgspecError:
        return None


def _parts(events: Sequence[Event]) -> Iterator[str]:
    for start in range(0, len(events), MARKS_A_LINE):
        yield _marks(events[start : start + MARKS_A_LINE])


def _marks(events: Iterable[Event]) -> str:
    return " ".join(map(mark, events))


def _written(line: Line) -> str:
    return _encode(line).decode()
