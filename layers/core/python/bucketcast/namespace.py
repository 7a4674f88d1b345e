"""The `namespace` format: what a batch of events means for the rows of a mirror of the bucket.

S3 delivers late, twice and out of order. Each key therefore has registers that only ever grow,
which makes the outcome independent of order and repeats:

* `put`, one: the newest creation, by sequencer and then time. The row shows it, or nothing. A
  creation without a sequencer is older than any that has one.
* `removal`, one for each version named by it: `ANY` for those that name none or leave a delete
  marker. It hides the put if it is newer, and about `ANY` or the put's version. A version's id is
  never given twice, so that a removal that names one has the sequencer `FINAL`: it takes away that
  version, whenever either is heard of. "null" is given again and again, and has no such removal.
* `overlay`, one for each version: the newest of all other events, by time alone, for MinIO repeats
  the object's sequencer in some of them and gives others a new one. It lends its record to the row
  if that shows a put of its version that is older; the record's `object` stays the put's.

Reads, counts of the scanner and removals of nothing move no register. An overlay without its put
makes no row, and waits for it. Which older version comes to the surface when the newest, or the
marker above it, is removed by its id, no event says: the key then has no row, until it is put again
or looked at.

Removals and overlays are remembered for `lifetime.TOMBSTONE_DAYS`, as no event that comes is older.

A batch is folded to at most one entry a register here; each target then joins the entries with
what it holds, where "newer" is decided by `newer`.
"""

from collections.abc import Container, Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter

import msgspec

from bucketcast.event import SEQUENCER_DIGITS, Event, padded
from bucketcast.names import REMOVALS, changes_nothing, creates
from bucketcast.shapes.minio import path

ANY = ""
"""The version of a removal that hides every older put of its key, whatever its version."""
UNVERSIONED = "null"
"""S3's name for the version of an object without one."""
FIRST = "0" * SEQUENCER_DIGITS
"""The sequencer of a put whose source gave it none."""
FINAL = "f" * SEQUENCER_DIGITS
"""The sequencer of a removal by a version's id: nothing puts that version again."""


_PLACE = attrgetter("key", "register", "version")
_OF_ONE_VERSION = frozenset({"s3:ObjectRemoved:Delete", "s3:ObjectSynced:Delete"})


class Register(StrEnum):
    PUT = "put"
    REMOVAL = "removal"
    OVERLAY = "overlay"


class Entry(msgspec.Struct, gc=False):
    """One register's new value; `places` are the events of the batch that it stands for.

    `version` is `ANY`, `UNVERSIONED` or an id. `sequencer` has 32 digits for a put, none for an
    overlay, and either for a removal.
    """

    register: Register
    key: str
    version: str
    sequencer: str
    time: str
    event: Event
    places: list[int]

    def own(self, events: Sequence[Event]) -> int:
        """The place in the batch of `event` itself, the only one whose text is written."""
        return next(place for place in self.places if events[place] is self.event)


def newer(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Compare two (sequencer, time): by sequencer, then time; by time alone where one has none."""
    return one > other if one[0] and other[0] else one[1] > other[1]


def moves(event: Event) -> bool:
    """Whether an event moves a register at all."""
    return bool(event.key) and _named(event.name) is not None


def fold(events: Iterable[Event], without: Container[int] = ()) -> list[Entry]:
    """The registers a batch moves, sorted by key so that every writer locks in one order.

    Events at the places `without` are left out.
    """
    entries: dict[tuple[str, Register, str, bool], Entry] = {}
    for place, event in enumerate(events):
        register = _named(event.name)
        if register is None or not event.key or place in without:
            continue
        version, sequencer = _about(register, event)
        key, time = path(event), event.time
        # There is one put a key, whatever its version. Removals with and without a sequencer stand
        # apart, because "newer" is no order over both together.
        slot = (key, register, ANY if register is Register.PUT else version, not sequencer)
        held = entries.get(slot)
        if held is None:
            entries[slot] = Entry(register, key, version, sequencer, time, event, [place])
            continue
        held.places.append(place)
        if newer((sequencer, time), (held.sequencer, held.time)):
            entries[slot] = Entry(register, key, version, sequencer, time, event, held.places)
    return sorted(entries.values(), key=_PLACE)


@lru_cache(256)
def _named(name: str) -> Register | None:
    """Which register events of this name move."""
    if creates(name):
        return Register.PUT
    if name in REMOVALS:
        return Register.REMOVAL
    return None if changes_nothing(name) else Register.OVERLAY


def _about(register: Register, event: Event) -> tuple[str, str]:
    """The version that an event is about, and its sequencer in its register."""
    if register is Register.PUT:
        return event.version_id or UNVERSIONED, padded(event.sequencer) or FIRST
    if register is Register.OVERLAY:
        return event.version_id or UNVERSIONED, ""
    version = event.version_id if event.name in _OF_ONE_VERSION else ANY
    if not version or version == UNVERSIONED:
        return version or ANY, padded(event.sequencer)
    return version, FINAL
