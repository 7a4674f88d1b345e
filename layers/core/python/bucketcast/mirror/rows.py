"""The rows of a mirror, for a comparison with the bucket.

A row is read from its record alone, in MinIO's dialect, of which Elasticsearch reads these parts
only. The guard beside the rows also knows puts that a removal hides, and removals themselves. An
event that repairs a row has to be newer than all of them.
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
    `Event.order`. A value that the record lacks is "", None for `version_id` and 0 for `size`; a
    value that is not a record lacks all of them.
    """

    path: str
    sequencer: str = ""
    time: str = ""
    etag: str = ""
    size: int = 0
    version_id: str | None = None


class MergedState(msgspec.Struct, frozen=True, gc=False):
    """The whole state of a path: its row, if it has one, and the newest order of all registers.

    `sequencer` and `time` are each the newest of the row, of hidden puts, of removals and of
    overlays, "" if none has one; they may come from different events. An event with this sequencer
    and a later time is newer than all of them, and older than S3's next event.
    """

    row: StoredRow | None = None
    sequencer: str = ""
    time: str = ""


Order = tuple[str, str]
"""Sequencer and time, "" for one that is missing."""


def merge(row: StoredRow | None, orders: Iterable[Order] = ()) -> MergedState:
    """Return the merged state of a row and the orders in the guard, without `FINAL` ones."""
    known = [order for order in orders if order[0] != FINAL]
    known += [(row.sequencer, row.time)] if row else []
    sequencer = max((sequencer for sequencer, _ in known), default="")
    return MergedState(row, sequencer, max((time for _, time in known), default=""))


def merged_states(
    paths: Iterable[str],
    rows: Mapping[str, StoredRow],
    orders: Mapping[str, Iterable[Order]],
) -> dict[str, MergedState]:
    """Return the merged state of each path that has a row, or orders in the guard."""
    return {
        path: merge(rows.get(path), orders.get(path, ()))
        for path in paths
        if path in rows or path in orders
    }


def versions(row: StoredRow | None) -> tuple[str, ...]:
    """Return the versions whose guard entries may be newer than the next put.

    S3 never reuses a version id except "null", so removals of other versions do not concern the
    bucket's current object.
    """
    version_id = row.version_id if row else None
    return tuple(dict.fromkeys((ANY, UNVERSIONED, version_id or UNVERSIONED)))


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
    """Parse a row from its value, `{"Records": [record]}`; `path` is used if it is given.

    Any other value makes an empty row, which differs from every object in the bucket.
    """
    try:
        (record,) = _decode(value or b"").Records
    except (msgspec.DecodeError, UnicodeDecodeError):
        return StoredRow(path)
    fields: Any = record.s3.object
    return StoredRow(
        path or f"{record.s3.bucket.name}/{unquote_plus(fields.key)}",
        padded(fields.sequencer or ""),
        to_millis(record.eventTime),
        fields.eTag or "",
        fields.size or 0,
        fields.versionId or None,
    )
