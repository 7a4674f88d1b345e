"""The `namespace` format: what a batch of events means for the rows of a mirror of the bucket.

S3 delivers late, twice and out of order. Each key therefore has three registers that only ever
grow, which makes the outcome independent of order and repeats:

* the newest put: the event that the row shows,
* the newest removal, one for each version named by it (`ANY` for those that name none or leave
  a delete marker): it hides an older put of that version,
* the newest overlay: an event without a sequencer (S3's tagging event has none and no size
  either). It lends the row its record, never its object: size, eTag and sequencer stay the put's.

A batch is folded to at most one entry a register here; each target then joins the entries with
what it holds, where "newer" is decided by `newer`.
"""

from collections.abc import Iterable
from enum import StrEnum
from operator import attrgetter

import msgspec

from bucketcast.event import Event, padded
from bucketcast.names import NOTHING_HAPPENED, REMOVALS, expand
from bucketcast.shapes.minio import path

ANY = ""
"""The version of a removal that hides every older put of its key, whatever its version."""
UNVERSIONED = "null"
"""S3's name for the version of an object without one."""
DAYS_TO_REMEMBER = 14
"""How long a removal is remembered: no event waits longer in a queue."""


_PLACE = attrgetter("key", "register", "version")
_CHANGED_NOTHING = frozenset({NOTHING_HAPPENED, *expand("s3:Scanner:*")})
"""The scanner counts what is there already; its `size` is that count."""


class Register(StrEnum):
    PUT = "put"
    REMOVAL = "removal"
    OVERLAY = "overlay"


class Entry(msgspec.Struct, gc=False):
    """One register's new value; `places` are the events of the batch that it stands for."""

    register: Register
    key: str
    version: str
    sequencer: str
    time: str
    event: Event
    places: list[int]


def newer(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Compare two `Event.order`: by sequencer, then time; by time alone where one has none."""
    return one > other if one[0] and other[0] else one[1] > other[1]


def fold(events: Iterable[Event]) -> list[Entry]:
    """The registers a batch moves, sorted by key so that every writer locks in one order."""
    entries: dict[tuple[str, Register, str, bool], Entry] = {}
    for place, event in enumerate(events):
        if event.name in _CHANGED_NOTHING or not event.key:
            continue
        register, version = _register(event)
        key = path(event)
        sequencer, time = padded(event.sequencer), event.time
        # Apart, because "newer" is no order over removals with and without a sequencer together.
        about = version if register is Register.REMOVAL else ANY
        slot = (key, register, about, not sequencer)
        held = entries.get(slot)
        if held is None:
            entries[slot] = Entry(register, key, version, sequencer, time, event, [place])
            continue
        held.places.append(place)
        if newer((sequencer, time), (held.sequencer, held.time)):
            entries[slot] = Entry(register, key, version, sequencer, time, event, held.places)
    return sorted(entries.values(), key=_PLACE)


def _register(event: Event) -> tuple[Register, str]:
    """Which register an event moves, and the version it is about."""
    if event.name in REMOVALS:
        named = event.name == "s3:ObjectRemoved:Delete" and event.version_id is not None
        return Register.REMOVAL, str(event.version_id) if named else ANY
    register = Register.PUT if event.sequencer else Register.OVERLAY
    return register, event.version_id or UNVERSIONED
