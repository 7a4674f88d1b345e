"""Compare objects with rows.

Only fields that both have are compared. S3 does not always name an eTag, events leave out sizes,
and a row of an object without versions names none.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, Final

from pyspark.sql import DataFrame

from bucketcast.mirror.rows import StoredRow
from bucketcast.mirror.synthetic import Object

UNKNOWN_SIZE: Final = -1
"""MinIO's value for it in a row."""


class Drift(StrEnum):
    """A way in which a row of the mirror is wrong."""

    MISSING = "missing"
    STALE = "stale"
    EXTRA = "extra"


def find_drift(current: Object | None, row: StoredRow | None) -> Drift | None:
    """Return the drift between an object and its row; None if they agree."""
    if current is None:
        return Drift.EXTRA if row else None
    if row is None:
        return Drift.MISSING
    return Drift.STALE if not row.time or _differ(current, row) else None


def _differ(current: Object, row: StoredRow) -> bool:
    return (
        bool(current.etag and row.etag and current.etag != row.etag)
        or (current.size is not None and row.size not in (UNKNOWN_SIZE, current.size))
        or bool(current.version_id and row.version_id and current.version_id != row.version_id)
    )


def suspects(objects: DataFrame, rows: DataFrame, prefix: str | None) -> DataFrame:
    """Return the `key` of all pairs that differ by `find_drift`, each once.

    `objects` has the columns of `Object`, `rows` those of `mirror.ROWS`. Of rows only those are
    compared whose keys begin with the prefix of the objects' source, or all if that is not known.
    """
    if prefix:
        rows = rows.where(rows.key.startswith(prefix))
    compared = objects.select("key", "bucket", "version_id", "size", "etag")
    pairs = compared.join(rows, "key", "full_outer")
    keys = pairs.rdd.mapPartitions(_find_suspects)
    return objects.sparkSession.createDataFrame(keys, "key string").distinct()


def _find_suspects(pairs: Iterable[Sequence[Any]]) -> Iterator[tuple[str]]:
    for key, bucket, version_id, size, etag, sequencer, time, *row in pairs:
        # Both are never None where there is an object, or a row.
        current = None if bucket is None else Object(bucket, key, version_id, size, etag)
        stored = None if time is None else StoredRow(key, sequencer, time, *row)
        if find_drift(current, stored):
            yield (key,)
