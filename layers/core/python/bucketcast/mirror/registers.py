"""The registers that a batch of events moves; the package docstring has the rules."""

from collections.abc import Container, Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter

import msgspec

from bucketcast.event import SEQUENCER_DIGITS, Event, padded
from bucketcast.event.names import REMOVALS, changes_nothing, creates
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


class RegisterUpdate(msgspec.Struct, gc=False):
    """One register's new value; `indexes` are the events of the batch that it stands for.

    `version` is `ANY`, `UNVERSIONED` or an id. `sequencer` has 32 digits for a put, none for an
    overlay, and either for a removal.
    """

    register: Register
    key: str
    version: str
    sequencer: str
    time: str
    event: Event
    indexes: list[int]

    def own(self, events: Sequence[Event]) -> int:
        """Return the index in the batch of `event` itself, the only one whose text is written."""
        return next(index for index in self.indexes if events[index] is self.event)


def newer(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Compare two (sequencer, time): by sequencer, then time; by time alone where one has none."""
    return one > other if one[0] and other[0] else one[1] > other[1]


def moves(event: Event) -> bool:
    """Return whether an event moves a register at all."""
    return bool(event.key) and _named(event.name) is not None


def fold(events: Iterable[Event], without: Container[int] = ()) -> list[RegisterUpdate]:
    """Return the registers a batch moves, sorted by key so that every writer locks in one order.

    Events at the indexes `without` are left out.
    """
    entries: dict[tuple[str, Register, str, bool], RegisterUpdate] = {}
    for index, event in enumerate(events):
        register = _named(event.name)
        if register is None or not event.key or index in without:
            continue
        version, sequencer = _about(register, event)
        key, time = path(event), event.time
        # There is one put a key, whatever its version. Removals with and without a sequencer stand
        # apart, because "newer" is no order over both together.
        slot = (key, register, ANY if register is Register.PUT else version, not sequencer)
        before = entries.get(slot)
        if before is None:
            entries[slot] = RegisterUpdate(register, key, version, sequencer, time, event, [index])
            continue
        before.indexes.append(index)
        if newer((sequencer, time), (before.sequencer, before.time)):
            entries[slot] = RegisterUpdate(
                register, key, version, sequencer, time, event, before.indexes
            )
    return sorted(entries.values(), key=_PLACE)


@lru_cache(256)
def _named(name: str) -> Register | None:
    """Return which register events of this name move."""
    if creates(name):
        return Register.PUT
    if name in REMOVALS:
        return Register.REMOVAL
    return None if changes_nothing(name) else Register.OVERLAY


def _about(register: Register, event: Event) -> tuple[str, str]:
    """Return the version that an event is about, and its sequencer in its register."""
    if register is Register.PUT:
        return event.version_id or UNVERSIONED, padded(event.sequencer) or FIRST
    if register is Register.OVERLAY:
        return event.version_id or UNVERSIONED, ""
    version = event.version_id if event.name in _OF_ONE_VERSION else ANY
    if not version or version == UNVERSIONED:
        return version or ANY, padded(event.sequencer)
    return version, FINAL
