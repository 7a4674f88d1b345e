"""Merge a batch with the stored state of a key: pure, no I/O.

A target loads the state of a key as a `Put` and `Version`s, applies the entries of the batch to
them and saves the result. Each of them only grows.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from bucketcast.event import padded, to_millis
from bucketcast.mirror.registers import ANY, FIRST, UNVERSIONED, Register, RegisterUpdate
from bucketcast.mirror.rows import read
from bucketcast.shapes import minio

HIDDEN = msgspec.Raw(b"null")
"""The document of a put that a removal hides: no later event can show it again."""
Moment = tuple[str, str]
"""Sequencer and time."""
Move = tuple[RegisterUpdate, msgspec.Raw]
"""An entry of the folded batch and its document; a removal's document is ignored."""
NEVER: Moment = ("", "")


class Put(msgspec.Struct, frozen=True, gc=False):
    """The newest put of a key."""

    sequencer: str
    time: str
    version: str
    document: msgspec.Raw

    @property
    def moment(self) -> Moment:
        return (self.sequencer, self.time)


class Overlay(msgspec.Struct, frozen=True, gc=False):
    """The newest overlay of a version."""

    time: str
    document: msgspec.Raw


class Version(msgspec.Struct, frozen=True, omit_defaults=True):
    """The newest overlay and removal of a version, or of `ANY`.

    The newest removal without a sequencer is kept apart: `removed_at` is its time.
    """

    removed: Moment = NEVER
    removed_at: str = ""
    overlay: Overlay | None = None

    def hides(self, put: Put) -> bool:
        return self.removed > put.moment or self.removed_at > put.time

    def merge(self, other: "Version") -> "Version":
        """Return the newest of both."""
        overlays = [version.overlay for version in (self, other) if version.overlay]
        return Version(
            max(self.removed, other.removed),
            max(self.removed_at, other.removed_at),
            max(overlays, key=lambda overlay: overlay.time, default=None),
        )

    def apply(self, move: Move) -> "Version":
        """Return the version with a removal or an overlay applied to it."""
        entry, document = move
        if entry.register is Register.OVERLAY:
            return self.merge(Version(overlay=Overlay(entry.time, document)))
        if entry.sequencer:
            return self.merge(Version((entry.sequencer, entry.time)))
        return self.merge(Version(removed_at=entry.time))


UNKNOWN = Version()


def put_of(row: bytes) -> Put | None:
    """Return the put in a row; None if neither we nor MinIO wrote it.

    It is read whatever the rest of the record is: an older event must not replace it.
    """
    try:
        (record,) = _list(_members(row)["Records"])
        object_ = _members(minio.object_of(record))
        sequencer = _text(object_.get("sequencer", HIDDEN))
        version = _text(object_.get("versionId", HIDDEN))
        time = to_millis(msgspec.json.decode(_members(record)["eventTime"], type=str))
    except (ValueError, KeyError):
        return None
    sequencer = padded(sequencer or "") or FIRST
    return Put(sequencer, time, version or UNVERSIONED, msgspec.Raw(row))


class VisibleRow(NamedTuple):
    """The row to show, and the moment that distinguishes it from the key's other rows."""

    moment: Moment
    document: bytes


def newest_put(put: Put | None, moves: Iterable[Move]) -> Put | None:
    """Return the newest put of the stored one and those of the batch."""
    for entry, document in moves:
        moment = (entry.sequencer, entry.time)
        if entry.register is Register.PUT and (put is None or moment > put.moment):
            put = Put(*moment, entry.version, document)
    return put


def is_hidden(put: Put, versions: Mapping[str, Version]) -> bool:
    """Return True if the put was removed, or a removal of `ANY` or its version is newer."""
    relevant = (versions.get(version, UNKNOWN) for version in (ANY, put.version))
    return put.document == HIDDEN or any(version.hides(put) for version in relevant)


def needed_moves(
    put: Put | None, versions: Mapping[str, Version], moves: Sequence[Move]
) -> list[Move]:
    """Return the moves without the expiries of versions that are not shown.

    `put` is the newest, with the batch, and `versions` are stored.
    """
    shown = None if put is None or is_hidden(put, versions) else put.version
    return [
        move
        for move in moves
        if move[0].register is not Register.EXPIRY or move[0].version == shown
    ]


def visible_row(put: Put, own: Version) -> VisibleRow:
    """Return the row of a put that is not hidden, with the overlay of its version on top."""
    if own.overlay and own.overlay.time > put.time and put.document:
        merged = _merge_overlay(own.overlay.document, put.document)
        return VisibleRow((put.sequencer, own.overlay.time), merged)
    return VisibleRow(put.moment, bytes(put.document))


class Stored(msgspec.Struct, gc=False):
    """The stored state of a key, with those of its versions that the batch may concern.

    `time` is the time of the event that the row shows, which may be an overlay.
    """

    is_shown: bool = False
    is_guarded: bool = False
    put: Put | None = None
    time: str = ""
    versions: dict[str, Version] = {}


class Change(NamedTuple):
    """The change of a row: its new document or its removal; with neither it stays."""

    document: bytes = b""
    removed: bool = False


def join(stored: Stored, moves: list[Move]) -> Change:
    """Apply moves to the stored state of their key; return the change of its row.

    Expiries that are not needed are taken out of `moves`.
    """
    previous = stored.put
    put = stored.put = newest_put(previous, moves)
    moves[:] = needed_moves(put, stored.versions, moves)
    for move in moves:
        if move[0].register is not Register.PUT:
            stored.is_guarded = True
            version = move[0].version
            stored.versions[version] = stored.versions.get(version, UNKNOWN).apply(move)
    if put is None or is_hidden(put, stored.versions):
        return Change(removed=stored.is_shown)
    visible = visible_row(put, stored.versions.get(put.version, UNKNOWN))
    has_overlay = visible.moment != put.moment
    if put is not previous or (has_overlay and visible.moment[1] > stored.time):
        return Change(visible.document)
    return Change()


def keep_row(entry: RegisterUpdate, document: bytes, row: bytes) -> tuple[RegisterUpdate, bytes]:
    """Return what to write of a put that was only seen: its row, if there is one, with a new order.

    So the row keeps its record, and no older event changes it.
    """
    if not entry.seen:
        return entry, document
    stored = read(row)
    version = stored.version_id or UNVERSIONED
    if (version, stored.etag) != (entry.version, entry.event.etag):
        return entry, document
    kept = minio.changed(_record(row), "sequencer", entry.event.sequencer)
    return msgspec.structs.replace(entry, time=stored.time), _document(kept)


_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_text = msgspec.json.Decoder(str | None).decode
_list = msgspec.json.Decoder(tuple[msgspec.Raw]).decode


def _record(document: bytes | msgspec.Raw) -> msgspec.Raw:
    """Return the one record in a document."""
    return _list(_members(document)["Records"])[0]


def _document(record: msgspec.Raw) -> bytes:
    return msgspec.json.encode({"Records": (record,)})


def object_of(document: msgspec.Raw) -> msgspec.Raw:
    """Return the object in a document, byte for byte."""
    return minio.object_of(_record(document))


def _merge_overlay(overlay: msgspec.Raw, put: msgspec.Raw) -> bytes:
    """Return the overlay's record with the put's object: an overlay has no size."""
    return _document(minio.with_object(_record(overlay), object_of(put)))
