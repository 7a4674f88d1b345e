"""What a mirror of a bucket holds, for whoever compares it with the bucket.

A row is read from its record alone, in MinIO's dialect. What the guard beside the rows knows is
more than is seen: puts that a removal hides, and removals themselves. An event that is to repair a
row has to beat all of it.
"""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote_plus

import msgspec

from bucketcast.event import Sequencer, Time, padded, to_millis
from bucketcast.mirror.registers import ANY, FINAL, UNVERSIONED


class StoredRow(msgspec.Struct, frozen=True, gc=False):
    """One row.

    `path` is `bucket/key`, decoded. `sequencer` has 32 digits, `time` three decimals, as in
    `Event.order`; `sequencer`, `time` and `etag` are "" and `size` is 0 where the record says
    nothing, all of them where it is no record. `version_id` is None where it names none.
    """

    path: str
    sequencer: str = ""
    time: str = ""
    etag: str = ""
    size: int = 0
    version_id: str | None = None


class MergedState(msgspec.Struct, frozen=True, gc=False):
    """All that is known of a path: its row, if there is one, and the newest of everything.

    `sequencer` and `time` are each the newest of the row, of hidden puts, of removals and of
    overlays, "" where none has one; they need not be of the same event. An event with this
    sequencer and a later time beats them all, and loses to whatever S3 says next.
    """

    row: StoredRow | None = None
    sequencer: str = ""
    time: str = ""


Order = tuple[str, str]
"""Sequencer and time, "" for either that is not there."""


def merged(row: StoredRow | None, orders: Iterable[Order] = ()) -> MergedState:
    """Return the merged state of a row and the orders in the guard, without `FINAL` ones."""
    seen = [each for each in orders if each[0] != FINAL]
    seen += [(row.sequencer, row.time)] if row else []
    sequencer = max((each for each, _ in seen), default="")
    return MergedState(row, sequencer, max((each for _, each in seen), default=""))


def merged_states(
    paths: Iterable[str],
    rows: Mapping[str, StoredRow],
    orders: Mapping[str, Iterable[Order]],
) -> dict[str, MergedState]:
    """Return the merged state of each path that has a row, or orders in the guard."""
    return {
        path: merged(rows.get(path), orders.get(path, ()))
        for path in paths
        if path in rows or path in orders
    }


def versions(row: StoredRow | None) -> tuple[str, ...]:
    """Return the versions of which the guard may know what the next put has to beat.

    S3 gives no version's name twice, "null" apart: what some other version's removal removed is
    not what is in the bucket now.
    """
    named = row.version_id if row else None
    return tuple(dict.fromkeys((ANY, UNVERSIONED, named or UNVERSIONED)))


class _Object(msgspec.Struct):
    key: str = ""
    size: int | None = None
    eTag: str | None = None  # noqa: N815 - the name on the wire
    versionId: str | None = None  # noqa: N815 - the name on the wire
    sequencer: Sequencer | None = None


class _Bucket(msgspec.Struct, frozen=True):
    name: str = ""


class _S3(msgspec.Struct):
    object: _Object
    bucket: _Bucket = _Bucket()


class _Record(msgspec.Struct):
    s3: _S3
    eventTime: Time  # noqa: N815 - the name on the wire


class _Records(msgspec.Struct):
    Records: tuple[_Record]


_decode = msgspec.json.Decoder(_Records).decode


def read(value: bytes | str | None, path: str = "") -> StoredRow:
    """Parse a row from its value, `{"Records": [record]}`; `path` is used where a row has none.

    A value that is no such thing makes a row that says nothing: it is not what the bucket has.
    """
    try:
        (record,) = _decode(value or b"").Records
    except (msgspec.DecodeError, UnicodeDecodeError):
        return StoredRow(path)
    about: Any = record.s3.object
    return StoredRow(
        path or f"{record.s3.bucket.name}/{unquote_plus(about.key)}",
        padded(about.sequencer or ""),
        to_millis(record.eventTime),
        about.eTag or "",
        about.size or 0,
        about.versionId or None,
    )
