"""What a batch makes of a key, given what the database holds of it: pure, no SQL.

A *moment* is a sequencer of 32 digits and a time behind it, which compares as text; times have no
Z. What has no sequencer has no moment, only a time.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from bucketcast.event import SEQUENCER_DIGITS, padded
from bucketcast.namespace import ANY, FIRST, UNVERSIONED, Entry, Register

_decode, _encode = msgspec.json.decode, msgspec.json.Encoder().encode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_records = msgspec.json.Decoder(dict[str, tuple[msgspec.Raw]]).decode


class Removal(NamedTuple):
    """The newest removal of a version: its moment, and its time where it has no sequencer."""

    moment: str = ""
    time: str = ""

    def hides(self, put: str) -> bool:
        return self.moment > put or self.time > put[SEQUENCER_DIGITS:]


class Overlay(NamedTuple):
    """The newest overlay of a version, and its time."""

    value: bytes = b""
    time: str = ""


class Known(msgspec.Struct, kw_only=True, gc=False):
    """What is known of a key; of its versions only those that this batch can be about.

    `guarded` says whether it has rows in the guard, `shown` whether it has one that is seen, `put`
    is the moment of the newest put, seen or hidden, `held` the object of the put that is seen, as
    JSON, and `version` its version; `time` is that of the event that the row shows, which may be an
    overlay.
    """

    guarded: bool = False
    shown: bool = False
    put: str = ""
    time: str = ""
    held: bytes | None = None
    version: str = UNVERSIONED
    removals: dict[str, Removal]
    overlays: dict[str, Overlay]


class Change(NamedTuple):
    """What becomes of the row that is seen: its new value, or whether it goes; else it stays."""

    value: bytes = b""
    gone: bool = False


def of_row(time: str | None, held: str | None) -> Known:
    """What a row alone tells: its event's time and object, as JSON, or null where it has none."""
    found = _found(held) if held else None
    held_object: dict[str, Any] = found if isinstance(found, dict) else {}
    sequencer = held_object.get("sequencer")
    digits = padded(sequencer) if isinstance(sequencer, str) else ""
    bare = _bare(time or "")
    return Known(
        shown=True,
        put=(digits or FIRST) + bare,
        time=bare,
        held=held.encode() if held and held_object else b"",
        version=held_object.get("versionId") or UNVERSIONED,
        removals={},
        overlays={},
    )


def _found(held: str) -> Any:
    try:
        return _decode(held)
    except msgspec.DecodeError:  # such as a number that is none of Python's
        return None


def moment(entry: Entry) -> str:
    """The entry's moment; "" where it has no sequencer."""
    return entry.sequencer + _bare(entry.time) if entry.sequencer else ""


def join(known: Known, entries: Iterable[tuple[Entry, bytes]]) -> Change:
    """Let entries of one key, each with its value, into what is known of it."""
    fresh = b""
    for entry, value in entries:
        if entry.register is Register.PUT:
            if moment(entry) > known.put:
                known.put, known.time = moment(entry), _bare(entry.time)
                known.version, known.held = entry.version, _object(value)
                fresh = value
            continue
        known.guarded = True
        if entry.register is Register.REMOVAL:
            held = known.removals.get(entry.version, Removal())
            at = "" if entry.sequencer else _bare(entry.time)
            known.removals[entry.version] = Removal(
                max(held.moment, moment(entry)), max(held.time, at)
            )
        elif _bare(entry.time) > known.overlays.get(entry.version, Overlay()).time:
            known.overlays[entry.version] = Overlay(value, _bare(entry.time))
    return _shown(known, fresh)


def _shown(known: Known, fresh: bytes) -> Change:
    """The row that is seen, where it is another than before; `fresh` is a new put's value."""
    about = (known.removals.get(version) for version in (ANY, known.version))
    if known.held is None or any(each.hides(known.put) for each in about if each):
        return Change(gone=known.shown)
    overlay = known.overlays.get(known.version, Overlay())
    if overlay.time <= known.time or not known.held:
        return Change(fresh)
    record = _record(overlay.value)
    s3 = _members(record["s3"]) | {"object": msgspec.Raw(known.held)}
    record["s3"] = msgspec.Raw(_encode(s3))
    return Change(_encode({"Records": (record,)}))


def _object(value: bytes) -> bytes:
    return bytes(_members(_record(value)["s3"])["object"])


def _record(value: bytes) -> dict[str, msgspec.Raw]:
    """A record's members as they are written: not every number in one is one of Python's."""
    return _members(_records(value)["Records"][0])


def _bare(time: str) -> str:
    return time.removesuffix("Z")
