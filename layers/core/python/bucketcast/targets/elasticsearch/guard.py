"""What the documents of one object say: the registers of `bucketcast.mirror`.

An object that was only ever put is known from its visible document alone. One that saw a removal
or an overlay has documents in the guard: one with its newest put, and with what is known of `ANY`
and of "null"; and one for each version with an id that either named, so that none of them grows
with the number of versions.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from bucketcast.event import padded, to_millis
from bucketcast.event.names import creates
from bucketcast.mirror import join
from bucketcast.mirror.join import UNKNOWN, Moment, Move, Put, Version, object_of
from bucketcast.mirror.registers import ANY, FIRST, UNVERSIONED, Register
from bucketcast.targets.elasticsearch.api import one_line


class GuardDocument(msgspec.Struct, frozen=True, omit_defaults=True):
    """A document of the guard; `noted_at`, Unix ms, is when a removal or an overlay last came."""

    put: Put | None = None
    versions: dict[str, Version] = {}
    noted_at: int = 0


NOTHING = GuardDocument()
_guard_document = msgspec.json.Decoder(GuardDocument).decode


class _Object(msgspec.Struct):
    sequencer: str | None = ""
    versionId: str | None = None  # noqa: N815 - the name on the wire


class _S3(msgspec.Struct):
    object: _Object


class _Record(msgspec.Struct):
    eventTime: str  # noqa: N815 - the name on the wire
    s3: _S3
    eventName: str = ""  # noqa: N815 - the name on the wire


class _Document(msgspec.Struct):
    Records: tuple[_Record]


_read = msgspec.json.Decoder(_Document).decode


def guard_document(document: bytes) -> GuardDocument:
    """Return what a document of the guard says; nothing where it is none of ours."""
    try:
        return _guard_document(document)
    except msgspec.DecodeError:
        return NOTHING


def visible_put(document: bytes) -> Put | None:
    """Return the put that a visible document shows; None if neither we nor MinIO wrote it."""
    try:
        (record,) = _read(document).Records
    except msgspec.DecodeError:
        return None
    described, time = record.s3.object, to_millis(record.eventTime)
    sequencer, version = (
        padded(described.sequencer or "") or FIRST,
        described.versionId or UNVERSIONED,
    )
    return Put(sequencer, time, version, msgspec.Raw(one_line(document)))


def home(version: str) -> str:
    """Return which document of the guard a version stands in: `ANY` for that of the object."""
    return ANY if version == UNVERSIONED else version


def newest(stored: Put | None, visible: Put | None, moves: Iterable[Move]) -> Put | None:
    """Return the newest put of all that are known."""
    put = stored
    if visible and (put is None or _passed_by(visible, put)):
        put = visible  # by somebody who saw no guard
    return join.newest_put(put, moves)


def _passed_by(visible: Put, put: Put) -> bool:
    """Return whether what is visible is newer than a put in the guard.

    Puts without a sequencer are distinguished by their times, and the visible time is that of an
    overlay unless a put is on top.
    """
    if visible.sequencer != put.sequencer or visible.time <= put.time:
        return visible.sequencer > put.sequencer
    return creates(_read(visible.document).Records[0].eventName)


def same_object(one: Put, other: Put) -> bool:
    """Return whether the documents of two puts say the same of the object, byte for byte."""
    return bool(object_of(one.document) == object_of(other.document))


def noted(versions: Mapping[str, Version], moves: Iterable[Move], side: str) -> dict[str, Version]:
    """Return the versions in the guard's document `side` after these moves, in any order."""
    found = dict(versions)
    for entry, document in moves:
        if entry.register is not Register.PUT and home(entry.version) == side:
            before = found.get(entry.version, UNKNOWN)
            found[entry.version] = before.apply((entry, document))
    return found


def orders(of: GuardDocument) -> Iterator[Moment]:
    """Yield all that a document of the guard knows, as orders; "" for what one does not have."""
    if of.put:
        yield of.put.moment
    for version in of.versions.values():
        yield from (each for each in (version.removed, ("", version.removed_at)) if each[1])
        if version.overlay:
            yield "", version.overlay.time
