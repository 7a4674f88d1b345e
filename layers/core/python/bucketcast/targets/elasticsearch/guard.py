"""The documents of one object: they store the registers of `bucketcast.mirror`.

An object that was only ever put has its visible document alone. One that saw a removal or an
overlay has documents in the guard: one with its newest put, and the registers of `ANY` and "null";
and one for each version with an id that either named, so that none of them grows with the number
of versions.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from bucketcast.event.names import creates
from bucketcast.mirror import join
from bucketcast.mirror.join import HIDDEN, UNKNOWN, Moment, Move, Put, Version, object_of
from bucketcast.mirror.registers import ANY, UNVERSIONED, Register


class GuardDocument(msgspec.Struct, frozen=True, omit_defaults=True):
    """A document of the guard; `noted_at`, Unix ms, is the time of its last removal or overlay."""

    put: Put | None = None
    versions: dict[str, Version] = {}
    noted_at: int = 0


NOTHING = GuardDocument()
_decode_guard = msgspec.json.Decoder(GuardDocument).decode


class _Record(msgspec.Struct):
    eventName: str = ""  # noqa: N815 - the name on the wire


class _Document(msgspec.Struct):
    Records: tuple[_Record]


_decode_name = msgspec.json.Decoder(_Document).decode


def parse_guard(document: bytes) -> GuardDocument:
    """Parse a document of the guard; a foreign document is `NOTHING`."""
    try:
        return _decode_guard(document)
    except ValueError:
        return NOTHING


def slot_of(version: str) -> str:
    """Return the slot of a version's document in the guard: `ANY` for the object's own."""
    return ANY if version == UNVERSIONED else version


def newest_put(stored: Put | None, visible: Put | None, moves: Iterable[Move]) -> Put | None:
    """Return the newest of the stored put, the visible one and those of the batch."""
    put = stored
    if visible and (put is None or _is_newer(visible, put)):
        put = visible  # its writer saw no guard
    return join.newest_put(put, moves)


def _is_newer(visible: Put, put: Put) -> bool:
    """Return True if the visible put is newer than the put in the guard.

    Puts without a sequencer are ordered by their times; a visible document has the put's own time
    only if no overlay is on top.
    """
    if visible.sequencer != put.sequencer or visible.time <= put.time:
        return visible.sequencer > put.sequencer
    return not _has_overlay(visible)


def has_other_put(visible: Put | None, stored: Put | None) -> bool:
    """Return True if the visible document has an overlay above another put than the stored one."""
    shown = stored and stored.document != HIDDEN and stored.version
    return visible is not None and shown != visible.version and _has_overlay(visible)


def _has_overlay(visible: Put) -> bool:
    return not creates(_decode_name(visible.document).Records[0].eventName)


def same_object(put: Put, other: Put) -> bool:
    """Return True if the objects in the documents of two puts are equal, byte for byte."""
    return bool(object_of(put.document) == object_of(other.document))


def apply_moves(
    versions: Mapping[str, Version], moves: Iterable[Move], slot: str
) -> dict[str, Version]:
    """Return the versions of a slot after these moves, in any order."""
    result = dict(versions)
    for entry, document in moves:
        if entry.register is not Register.PUT and slot_of(entry.version) == slot:
            version = result.get(entry.version, UNKNOWN)
            result[entry.version] = version.apply((entry, document))
    return result


def orders(document: GuardDocument) -> Iterator[Moment]:
    """Yield all orders in a document of the guard; "" for a missing sequencer."""
    if document.put:
        yield document.put.moment
    for version in document.versions.values():
        yield from (order for order in (version.removed, ("", version.removed_at)) if order[1])
        if version.overlay:
            yield "", version.overlay.time
