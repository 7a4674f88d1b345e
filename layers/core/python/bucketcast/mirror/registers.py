"""The registers that a batch of events updates; the package docstring has the rules."""

from collections.abc import Container, Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter

import msgspec

from bucketcast.event import AGENT, SEQUENCER_DIGITS, Event, padded
from bucketcast.event.names import REMOVALS, changes_nothing, creates
from bucketcast.shapes.minio import path

ANY = ""
"""The version of a removal that hides all older puts of its key, of any version."""
UNVERSIONED = "null"
"""S3's name for the version of an object without one."""
FIRST = "0" * SEQUENCER_DIGITS
"""The sequencer of a put without one."""
SEEN = f"{AGENT}ingest"
"""The user agent of a put that ingest reports: the version that S3 shows after a removal."""
FINAL = "f" * SEQUENCER_DIGITS
"""The sequencer of a removal by a version's id: that version is never put again."""

_SORT_KEY = attrgetter("key", "register", "version")


class Register(StrEnum):
    """`EXPIRY` is the removal of a version that was not current: only what is shown needs it."""

    PUT = "put"
    REMOVAL = "removal"
    EXPIRY = "expiry"
    OVERLAY = "overlay"


_PUT = Register.PUT  # far quicker to read than a member of a class


class RegisterUpdate(msgspec.Struct, gc=False):
    """A register's new value; `indexes` are the events of the batch that it covers.

    `version` is `ANY`, `UNVERSIONED` or an id. `sequencer` has 32 digits for a put, none for an
    overlay, and either for a removal or an expiry. A put that was only `seen` leaves a row of its
    object as it is, but for the sequencer.
    """

    register: Register
    key: str
    version: str
    sequencer: str
    time: str
    event: Event
    indexes: list[int]
    seen: bool = False

    def own_index(self, events: Sequence[Event]) -> int:
        """Return the index of `event` itself, the only event of `indexes` that is written."""
        own = (index for index in self.indexes if events[index] is self.event)
        return next(own, self.indexes[-1])  # the last, if `event` was made of two


def is_newer(order: tuple[str, str], other: tuple[str, str]) -> bool:
    """Compare by sequencer, then time; by time alone if one of them has no sequencer."""
    return order > other if order[0] and other[0] else order[1] > other[1]


def expires_version(event: Event) -> bool:
    """Return True if lifecycle removed a version: one that was not current, or a lone marker."""
    expired = event.original == "s3:LifecycleExpiration:Delete"
    return expired and event.version_id not in (None, "", UNVERSIONED)


def moves(event: Event) -> bool:
    """Return True if the event updates a register."""
    return bool(event.key) and _register_of(event.name) is not None


def fold(events: Iterable[Event], without: Container[int] = ()) -> list[RegisterUpdate]:
    """Return the updates of a batch, sorted by key so that all writers lock in the same order.

    Events at the indexes `without` are left out.
    """
    entries: dict[object, RegisterUpdate] = {}
    removed: set[object] = set()
    for index, event in enumerate(events):
        register = _register_of(event.name)
        if register is None or not event.key or index in without:
            continue
        key, time = path(event), event.time
        if register is _PUT:
            # A key has one put, whatever its version.
            slot: object = key
            version, sequencer = event.version_id or UNVERSIONED, padded(event.sequencer) or FIRST
            seen = event.user_agent == SEEN
        else:
            # Removals with and without a sequencer are kept apart, because "newer" is not an order
            # over both together.
            version, sequencer = _version_and_sequencer(register, event)
            if expires_version(event):
                register = Register.EXPIRY
            slot = key, register, version, not sequencer
            removed.add(slot)
            seen = False
        previous = entries.get(slot)
        if previous is None:
            entries[slot] = RegisterUpdate(
                register, key, version, sequencer, time, event, [index], seen
            )
            continue
        previous.indexes.append(index)
        newer = is_newer((sequencer, time), (previous.sequencer, previous.time))
        if not newer and not previous.seen:
            continue
        entry = RegisterUpdate(
            register, key, version, sequencer, time, event, previous.indexes, seen
        )
        older, newest = (previous, entry) if newer else (entry, previous)
        entries[slot] = _keep_event(older, newest) if newest.seen else newest
    for slot in removed:
        entry, put = entries[slot], entries.get(entries[slot].key)
        if put is not None and _is_before(entry, put):
            put.indexes[:0] = entry.indexes  # the last is that of the put's own event
            del entries[slot]
    return sorted(entries.values(), key=_SORT_KEY)


def _is_before(entry: RegisterUpdate, put: RegisterUpdate) -> bool:
    """Return True for the removal of a version before a newer put, of another, in its batch.

    Such is the put that ingest has seen. The removed version's own is older than both.
    """
    removed = padded(entry.event.sequencer) if entry.sequencer == FINAL else ""
    later = put.sequencer > removed or (put.seen and put.sequencer == removed)
    return removed > FIRST and put.version != entry.version and later


def _keep_event(older: RegisterUpdate, seen: RegisterUpdate) -> RegisterUpdate:
    """Return the older put with the sequencer of the one that was seen, if both are one object."""
    event = older.event
    is_same = older.version == seen.version and event.etag == seen.event.etag
    if not is_same or older.seen or event.dialect == "minio":
        return seen
    kept = msgspec.structs.replace(event, sequencer=seen.event.sequencer)
    return msgspec.structs.replace(
        older, sequencer=seen.sequencer, event=kept, indexes=seen.indexes
    )


@lru_cache(256)
def _register_of(name: str) -> Register | None:
    """Return the register that events of this name update; None for no register."""
    if creates(name):
        return Register.PUT
    if name in REMOVALS:
        return Register.REMOVAL
    return None if changes_nothing(name) else Register.OVERLAY


def _version_and_sequencer(register: Register, event: Event) -> tuple[str, str]:
    """Return the version that an event other than a put concerns, and its sequencer."""
    if register is Register.OVERLAY:
        return event.version_id or UNVERSIONED, ""
    version = event.version_id if event.name == "s3:ObjectRemoved:Delete" else ANY
    if not version or version == UNVERSIONED:
        return version or ANY, padded(event.sequencer)
    return version, FINAL
