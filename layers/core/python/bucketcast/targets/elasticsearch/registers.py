"""What is known of one object: the registers of `bucketcast.namespace`, joined and shown.

An object that was only ever put is known from its visible document alone. One that saw a removal
or an overlay has a second document, in the guard, which holds all that is `Known`.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from bucketcast.event import padded, to_millis
from bucketcast.namespace import ANY, UNVERSIONED, Entry, Register
from bucketcast.targets.elasticsearch.bulk import one_line

GONE = msgspec.Raw(b"null")
"""The document of a put that a removal hides: it is not shown any more, whatever comes."""
Moment = tuple[str, str]
"""Sequencer and time."""
Move = tuple[Entry, msgspec.Raw]
"""An entry of the folded batch and its document; that of a removal is not looked at."""


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
    """The newest one."""

    time: str
    document: msgspec.Raw


class Known(msgspec.Struct, frozen=True, omit_defaults=True):
    """Removals are by version; those without a sequencer stand apart, by their time.

    `noted_at`, Unix ms, is when a removal or an overlay last came.
    """

    put: Put | None = None
    overlay: Overlay | None = None
    removed: dict[str, Moment] = {}
    removed_at: dict[str, str] = {}
    noted_at: int = 0

    @property
    def identity(self) -> Moment:
        """What tells the visible document that says this from any other of the object."""
        if self.put:
            return self.put.moment
        return ("", self.overlay.time if self.overlay else "")

    @property
    def needs_guard(self) -> bool:
        return bool(self.overlay or self.removed or self.removed_at)


class Shown(NamedTuple):
    """What the visible document has to be, and its `Known.identity`."""

    identity: Moment
    document: bytes


NOTHING = Known()
known = msgspec.json.Decoder(Known).decode


class _Object(msgspec.Struct):
    sequencer: str = ""
    versionId: str | None = None  # noqa: N815 - the name on the wire


class _S3(msgspec.Struct):
    object: _Object


class _Record(msgspec.Struct):
    eventTime: str  # noqa: N815 - the name on the wire
    s3: _S3


class _Document(msgspec.Struct):
    Records: tuple[_Record]


_read = msgspec.json.Decoder(_Document).decode


def seen(document: bytes) -> Known:
    """What a visible document says by itself; nothing where it is none of ours or MinIO's."""
    try:
        (record,) = _read(document).Records
    except msgspec.DecodeError:
        return NOTHING
    held, time = record.s3.object, to_millis(record.eventTime)
    raw = msgspec.Raw(one_line(document))
    if not held.sequencer:
        return Known(overlay=Overlay(time, raw))
    return Known(put=Put(padded(held.sequencer), time, held.versionId or UNVERSIONED, raw))


def joined(stored: Known, visible: Known, moves: Iterable[Move], now: int) -> Known:
    """All that is known after these moves; in which order anything came does not show."""
    put, overlay = stored.put, stored.overlay or visible.overlay
    if visible.put and (put is None or visible.put.sequencer > put.sequencer):
        put = visible.put  # by somebody who saw no guard
    removed, removed_at = dict(stored.removed), dict(stored.removed_at)
    for entry, document in moves:
        time, version, moment = entry.time, entry.version, (entry.sequencer, entry.time)
        if entry.register is Register.PUT:
            if put is None or moment > put.moment:
                put = Put(*moment, version, document)
        elif entry.register is Register.OVERLAY:
            if overlay is None or time > overlay.time:
                overlay = Overlay(time, document)
        elif entry.sequencer:
            removed[version] = max(moment, removed.get(version, moment))
        else:
            removed_at[version] = max(time, removed_at.get(version, time))
    if removed:
        removed = _still_needed(removed, put)
    if put and (removed or removed_at) and _hides(removed, removed_at, put):
        put = Put(*put.moment, put.version, GONE)
    same = (overlay, removed, removed_at) == (stored.overlay, stored.removed, stored.removed_at)
    return Known(put, overlay, removed, removed_at, stored.noted_at if same else now)


def shown(of: Known) -> Shown | None:
    """What is to be seen of the object; None where nothing is."""
    put, overlay = of.put, of.overlay
    if put is None:
        if overlay is None or of.removed or of.removed_at:
            return None
        return Shown(("", overlay.time), bytes(overlay.document))
    if put.document == GONE:
        return None
    if overlay and overlay.time > put.time:
        return Shown((put.sequencer, overlay.time), _lent(overlay.document, put.document))
    return Shown(put.moment, bytes(put.document))


def _still_needed(removed: dict[str, Moment], put: Put | None) -> dict[str, Moment]:
    """Removals that hide a put which may still come: newer than the newest put, and than `ANY`.

    Without the others, what is known of a key that is put over and over does not grow for ever.
    """
    floor = max(put.moment if put else ("", ""), removed.get(ANY, ("", "")))
    newest = {version: moment for version, moment in removed.items() if moment > floor}
    if ANY in removed and not (put and removed[ANY] <= put.moment):
        newest[ANY] = removed[ANY]
    return newest


def _hides(removed: dict[str, Moment], removed_at: dict[str, str], put: Put) -> bool:
    return any(
        removed.get(version, ("", "")) > put.moment or removed_at.get(version, "") > put.time
        for version in (ANY, put.version)
    )


def _lent(overlay: msgspec.Raw, put: msgspec.Raw) -> bytes:
    """The overlay's record with the put's object: an overlay knows no size."""
    document, below = msgspec.json.decode(overlay), msgspec.json.decode(put)
    document["Records"][0]["s3"]["object"] = below["Records"][0]["s3"]["object"]
    return msgspec.json.encode(document)
