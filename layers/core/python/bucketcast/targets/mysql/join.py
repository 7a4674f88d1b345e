"""What a batch makes of a key, given what the database holds of it: pure, no SQL.

A *moment* is a sequencer of 32 digits and a time behind it, which compares as text; times have no
Z. What has no sequencer has no moment, only a time.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from bucketcast.event import SEQUENCER_DIGITS, padded
from bucketcast.namespace import ANY, UNVERSIONED, Entry, Register

_decode, _encode = msgspec.json.decode, msgspec.json.Encoder().encode


class Removal(NamedTuple):
    """The newest removal of a version: its moment, and its time where it has no sequencer."""

    moment: str = ""
    time: str = ""

    def hides(self, put: str) -> bool:
        return self.moment > put or self.time > put[SEQUENCER_DIGITS:]


class Known(msgspec.Struct, kw_only=True, gc=False):
    """What is known of a key; of its removals only those that this batch can be about.

    `guarded` says whether it has rows in the guard, `shown` whether it has one that is seen, `put`
    is the moment of the newest put, seen or hidden, `held` the object of the put that is seen and
    `version` its version, `emptied` whether anything was ever removed.
    """

    guarded: bool = False
    shown: bool = False
    put: str = ""
    held: dict[str, Any] | None = None
    version: str = UNVERSIONED
    emptied: bool = False
    overlay: bytes = b""
    overlay_time: str = ""
    removals: dict[str, Removal]


class Change(NamedTuple):
    """What becomes of the row that is seen: its new value, or whether it goes; else it stays."""

    value: bytes = b""
    gone: bool = False


def of_row(time: str | None, held: str | None) -> Known:
    """What a row alone tells: its event's time and object, as JSON, or null where it has none."""
    known = Known(shown=True, removals={})
    found = _decode(held) if held else None
    held_object: dict[str, Any] = found if isinstance(found, dict) else {}
    sequencer = held_object.get("sequencer")
    if sequencer and isinstance(sequencer, str):
        known.put = padded(sequencer) + _bare(time or "")
        known.held = held_object
        known.version = held_object.get("versionId") or UNVERSIONED
    return known


def moment(entry: Entry) -> str:
    """The entry's moment; "" where it has no sequencer."""
    return entry.sequencer + _bare(entry.time) if entry.sequencer else ""


def join(known: Known, entries: Iterable[tuple[Entry, bytes]]) -> Change:
    """Let entries of one key, each with its value, into what is known of it."""
    fresh = b""
    newly_laid = False
    for entry, value in entries:
        if entry.register is Register.PUT:
            if moment(entry) > known.put:
                known.put, fresh = moment(entry), value
                known.version = entry.event.version_id or UNVERSIONED
                known.held = _object(value)
            continue
        known.guarded = True
        if entry.register is Register.REMOVAL:
            known.emptied = True
            held = known.removals.get(entry.version, Removal())
            at = "" if entry.sequencer else _bare(entry.time)
            known.removals[entry.version] = Removal(
                max(held.moment, moment(entry)), max(held.time, at)
            )
        elif _bare(entry.time) > known.overlay_time:
            known.overlay, known.overlay_time, newly_laid = value, _bare(entry.time), True
    return _shown(known, fresh, newly_laid=newly_laid)


def _shown(known: Known, fresh: bytes, *, newly_laid: bool) -> Change:
    """The row that is seen, where it is another than before; `fresh` is a new put's value."""
    about = (known.removals.get(version) for version in (ANY, known.version))
    if known.held is not None and any(each.hides(known.put) for each in about if each):
        known.held = None
    if known.held is None:
        if known.put or known.emptied or not known.overlay:
            return Change(gone=known.shown)
        return Change(known.overlay if newly_laid else b"")
    if known.overlay_time <= known.put[SEQUENCER_DIGITS:]:
        return Change(fresh)
    if not fresh and not newly_laid:
        return Change()
    document = _decode(known.overlay)
    document["Records"][0]["s3"]["object"] = known.held
    return Change(_encode(document))


def _object(value: bytes) -> dict[str, Any]:
    return dict(_decode(value)["Records"][0]["s3"]["object"])


def _bare(time: str) -> str:
    return time.removesuffix("Z")
