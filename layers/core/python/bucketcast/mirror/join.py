"""What a batch makes of a key, given what a target has stored of it: pure, no I/O.

A target loads what it has of a key as `Put` and `Version`s, lets the entries of the batch into them
and saves what comes out. Each of them only grows.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from bucketcast.mirror.registers import ANY, Register, RegisterUpdate

GONE = msgspec.Raw(b"null")
"""The document of a put that a removal hides: it is not shown any more, whatever comes."""
Moment = tuple[str, str]
"""Sequencer and time."""
Move = tuple[RegisterUpdate, msgspec.Raw]
"""An entry of the folded batch and its document; that of a removal is not looked at."""
NEVER: Moment = ("", "")


class Put(msgspec.Struct, frozen=True, gc=False):
    """The newest one of a key."""

    sequencer: str
    time: str
    version: str
    document: msgspec.Raw

    @property
    def moment(self) -> Moment:
        return (self.sequencer, self.time)


class Overlay(msgspec.Struct, frozen=True, gc=False):
    """The newest one of a version."""

    time: str
    document: msgspec.Raw


class Version(msgspec.Struct, frozen=True, omit_defaults=True):
    """Of a version, or of `ANY`: its newest overlay and removal.

    Removals without a sequencer stand apart, by their time.
    """

    removed: Moment = NEVER
    removed_at: str = ""
    overlay: Overlay | None = None

    def hides(self, put: Put) -> bool:
        return self.removed > put.moment or self.removed_at > put.time

    def joined(self, other: "Version") -> "Version":
        """Return what both say."""
        overlays = [each.overlay for each in (self, other) if each.overlay]
        return Version(
            max(self.removed, other.removed),
            max(self.removed_at, other.removed_at),
            max(overlays, key=lambda overlay: overlay.time, default=None),
        )

    def after(self, move: Move) -> "Version":
        """Return the version after a removal or an overlay."""
        entry, document = move
        if entry.register is Register.OVERLAY:
            return self.joined(Version(overlay=Overlay(entry.time, document)))
        if entry.sequencer:
            return self.joined(Version((entry.sequencer, entry.time)))
        return self.joined(Version(removed_at=entry.time))


UNKNOWN = Version()


class Shown(NamedTuple):
    """What the row has to be, and what distinguishes it from any other of its key."""

    moment: Moment
    document: bytes


def newest(put: Put | None, moves: Iterable[Move]) -> Put | None:
    """Return the newest put, of what is stored and of the batch."""
    for entry, document in moves:
        moment = (entry.sequencer, entry.time)
        if entry.register is Register.PUT and (put is None or moment > put.moment):
            put = Put(*moment, entry.version, document)
    return put


def is_hidden(put: Put, versions: Mapping[str, Version]) -> bool:
    """Return whether the put is gone, or a removal of any or of its own version is newer."""
    about = (versions.get(version, UNKNOWN) for version in (ANY, put.version))
    return put.document == GONE or any(version.hides(put) for version in about)


def shown(put: Put, own: Version) -> Shown:
    """Return what a put that is not hidden shows, below the overlay of its own version."""
    if own.overlay and own.overlay.time > put.time and put.document:
        lent = _lent(own.overlay.document, put.document)
        return Shown((put.sequencer, own.overlay.time), lent)
    return Shown(put.moment, bytes(put.document))


class Stored(msgspec.Struct, gc=False):
    """What a target has of a key; of its versions those that the batch can be about.

    `time` is that of the event that the row shows, which may be an overlay.
    """

    is_shown: bool = False
    is_guarded: bool = False
    put: Put | None = None
    time: str = ""
    versions: dict[str, Version] = {}


class Change(NamedTuple):
    """What becomes of the row: its new document, or whether it goes; else it stays."""

    document: bytes = b""
    removed: bool = False


def join(stored: Stored, moves: Sequence[Move]) -> Change:
    """Let moves of one key into what is stored of it."""
    before = stored.put
    put = stored.put = newest(before, moves)
    for move in moves:
        if move[0].register is not Register.PUT:
            stored.is_guarded = True
            version = move[0].version
            stored.versions[version] = stored.versions.get(version, UNKNOWN).after(move)
    if put is None or is_hidden(put, stored.versions):
        return Change(removed=stored.is_shown)
    found = shown(put, stored.versions.get(put.version, UNKNOWN))
    is_lent = found.moment != put.moment
    if put is not before or (is_lent and found.moment[1] > stored.time):
        return Change(found.document)
    return Change()


_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_list = msgspec.json.Decoder(tuple[msgspec.Raw]).decode


def object_of(document: msgspec.Raw) -> msgspec.Raw:
    """Return the object in a document, byte for byte."""
    return _members(_members(_list(_members(document)["Records"])[0])["s3"])["object"]


def _lent(overlay: msgspec.Raw, put: msgspec.Raw) -> bytes:
    """Return the overlay's record with the put's object: an overlay knows no size."""
    record = _members(_list(_members(overlay)["Records"])[0])
    s3 = _members(record["s3"])
    s3["object"] = object_of(put)
    record["s3"] = msgspec.Raw(msgspec.json.encode(s3))
    return msgspec.json.encode({"Records": (record,)})
