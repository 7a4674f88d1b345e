"""What is known of one object: the registers of `bucketcast.namespace`, joined and shown.

An object that was only ever put is known from its visible document alone. One that saw a removal
or an overlay has documents in the guard: one with its newest put, and with what is known of `ANY`
and of "null"; and one for each version with an id that either named, so that none of them grows
with the number of versions.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from bucketcast.event import padded, to_millis
from bucketcast.names import creates
from bucketcast.namespace import ANY, FIRST, UNVERSIONED, Entry, Register
from bucketcast.targets.elasticsearch.bulk import one_line

GONE = msgspec.Raw(b"null")
"""The document of a put that a removal hides: it is not shown any more, whatever comes."""
Moment = tuple[str, str]
"""Sequencer and time."""
Move = tuple[Entry, msgspec.Raw]
"""An entry of the folded batch and its document; that of a removal is not looked at."""
NEVER: Moment = ("", "")


class Put(msgspec.Struct, frozen=True, gc=False):
    """The newest one."""

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


UNKNOWN = Version()


class Known(msgspec.Struct, frozen=True, omit_defaults=True):
    """A document of the guard; `noted_at`, Unix ms, is when a removal or an overlay last came."""

    put: Put | None = None
    versions: dict[str, Version] = {}
    noted_at: int = 0


class _Earlier(Known, frozen=True):
    """A document of the guard that may be an earlier release's: all versions stood in one."""

    removed: dict[str, Moment] = {}
    removed_at: dict[str, str] = {}
    overlay: Overlay | None = None


class Shown(NamedTuple):
    """What the visible document has to be, and what tells it from any other of the object."""

    moment: Moment
    document: bytes


NOTHING = Known()
_earlier = msgspec.json.Decoder(_Earlier).decode


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
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_list = msgspec.json.Decoder(tuple[msgspec.Raw]).decode


def known(document: bytes) -> Known:
    """What a document of the guard says; nothing where it is none of ours."""
    try:
        found = _earlier(document)
    except msgspec.DecodeError:
        return NOTHING
    versions = dict(found.versions)
    for version in {**found.removed, **found.removed_at}:
        before = Version(found.removed.get(version, NEVER), found.removed_at.get(version, ""))
        versions[version] = both(before, versions.get(version, UNKNOWN))
    if found.overlay and (below := seen(bytes(found.overlay.document))):
        before = Version(overlay=found.overlay)
        versions[below.version] = both(before, versions.get(below.version, UNKNOWN))
    return Known(found.put, versions, found.noted_at)


def both(one: Version, other: Version) -> Version:
    """What two documents say of a version."""
    overlays = [each.overlay for each in (one, other) if each.overlay]
    return Version(
        max(one.removed, other.removed),
        max(one.removed_at, other.removed_at),
        max(overlays, key=lambda overlay: overlay.time, default=None),
    )


def seen(document: bytes) -> Put | None:
    """What a visible document says by itself; nothing where it is none of ours or MinIO's."""
    try:
        (record,) = _read(document).Records
    except msgspec.DecodeError:
        return None
    held, time = record.s3.object, to_millis(record.eventTime)
    sequencer, version = padded(held.sequencer or "") or FIRST, held.versionId or UNVERSIONED
    return Put(sequencer, time, version, msgspec.Raw(one_line(document)))


def home(version: str) -> str:
    """Which document of the guard a version stands in: `ANY` for that of the object."""
    return ANY if version == UNVERSIONED else version


def newest(stored: Put | None, visible: Put | None, moves: Iterable[Move]) -> Put | None:
    """The newest put of all that are known."""
    put = stored
    if visible and (put is None or _passed_by(visible, put)):
        put = visible  # by somebody who saw no guard
    for entry, document in moves:
        if entry.register is Register.PUT:
            moment = (entry.sequencer, entry.time)
            if put is None or moment > put.moment:
                put = Put(*moment, entry.version, document)
    return put


def _passed_by(visible: Put, put: Put) -> bool:
    """Whether what is visible is newer than a put in the guard.

    Puts without a sequencer are told apart by their times, and the time that is visible is that of
    an overlay unless a put is on top.
    """
    if visible.sequencer != put.sequencer or visible.time <= put.time:
        return visible.sequencer > put.sequencer
    return creates(_read(visible.document).Records[0].eventName)


def same_object(one: Put, other: Put) -> bool:
    """Whether the documents of two puts say the same of the object, byte for byte."""
    return bool(_object(one.document) == _object(other.document))


def _object(document: msgspec.Raw) -> msgspec.Raw:
    return _members(_members(_list(_members(document)["Records"])[0])["s3"])["object"]


def noted(versions: Mapping[str, Version], moves: Iterable[Move], place: str) -> dict[str, Version]:
    """The versions in the guard's document `place` after these moves; their order does not show."""
    found = dict(versions)
    for entry, document in moves:
        if entry.register is not Register.PUT and home(entry.version) == place:
            before = found.get(entry.version, UNKNOWN)
            found[entry.version] = _moved(before, entry, document)
    return found


def _moved(before: Version, entry: Entry, document: msgspec.Raw) -> Version:
    removed, removed_at, overlay = before.removed, before.removed_at, before.overlay
    if entry.register is Register.OVERLAY:
        if overlay is None or entry.time > overlay.time:
            overlay = Overlay(entry.time, document)
    elif entry.sequencer:
        removed = max(removed, (entry.sequencer, entry.time))
    else:
        removed_at = max(removed_at, entry.time)
    return Version(removed, removed_at, overlay)


def shown(put: Put, of_version: Version) -> Shown | None:
    """What is to be seen of the object; None where it is hidden."""
    if put.document == GONE:
        return None
    overlay = of_version.overlay
    if overlay and overlay.time > put.time:
        return Shown((put.sequencer, overlay.time), _lent(overlay.document, put.document))
    return Shown(put.moment, bytes(put.document))


def _lent(overlay: msgspec.Raw, put: msgspec.Raw) -> bytes:
    """The overlay's record with the put's object, byte for byte: an overlay knows no size."""
    record = _members(_list(_members(overlay)["Records"])[0])
    s3 = _members(record["s3"])
    s3["object"] = _object(put)
    record["s3"] = msgspec.Raw(msgspec.json.encode(s3))
    return msgspec.json.encode({"Records": (record,)})


def orders(of: Known) -> Iterator[Moment]:
    """All that a document of the guard knows, as orders; "" for what one does not have."""
    if of.put:
        yield of.put.moment
    for version in of.versions.values():
        yield from (each for each in (version.removed, ("", version.removed_at)) if each[1])
        if version.overlay:
            yield "", version.overlay.time
