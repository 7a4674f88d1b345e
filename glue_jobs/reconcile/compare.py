"""Compare objects with rows, as two tables and as one pair.

Only fields that both have are compared. S3 does not always name an eTag, events leave out sizes,
and a row of an object without versions names none.
"""

from enum import StrEnum
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

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


def suspects(objects: DataFrame, rows: DataFrame) -> DataFrame:
    """Return `key` and `what` of all pairs that differ by `find_drift`, each key once.

    `objects` has the columns of `Object`, `rows` those of `mirror.ROWS`.
    """
    pairs = objects.alias("current").join(rows.alias("row"), "key", "full_outer")
    drift = (
        sql.when(sql.col("row.time").isNull(), sql.lit(Drift.MISSING.value))
        .when(sql.col("current.bucket").isNull(), sql.lit(Drift.EXTRA.value))
        .when(_is_stale(), sql.lit(Drift.STALE.value))
    )
    differing = pairs.select("key", drift.alias("what"))
    return differing.where(sql.col("what").isNotNull()).dropDuplicates(["key"])


def _is_stale() -> Column:
    """Return the condition of `Drift.STALE` on columns; unknown fields are null, so not true."""
    size = _null_if("row.size", UNKNOWN_SIZE)
    version = _null_if("current.version_id", "")
    return (
        (sql.col("row.time") == "")
        | sql.coalesce(_null_if("current.etag", "") != _null_if("row.etag", ""), sql.lit(col=False))
        | sql.coalesce(sql.col("current.size") != size, sql.lit(col=False))
        | sql.coalesce(version != _null_if("row.version_id", ""), sql.lit(col=False))
    )


def _null_if(column: str, value: str | int) -> Column:
    return sql.when(sql.col(column) != value, sql.col(column))
