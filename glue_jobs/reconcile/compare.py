"""Compare objects with rows, as two tables and as one pair.

Only what both have is compared. S3 does not always name an eTag, events leave out sizes, and a row
of an object without versions names none.
"""

from enum import StrEnum
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from bucketcast.mirror.rows import StoredRow
from glue_jobs.events import Object

UNKNOWN_SIZE: Final = -1
"""MinIO's value for it in a row."""


class What(StrEnum):
    """What is wrong with a row of the mirror."""

    MISSING = "missing"
    STALE = "stale"
    EXTRA = "extra"


def of(found: Object | None, row: StoredRow | None) -> What | None:
    """Return what is wrong with the row of an object; None if they agree."""
    if found is None:
        return What.EXTRA if row else None
    if row is None:
        return What.MISSING
    return What.STALE if not row.time or _differ(found, row) else None


def _differ(found: Object, row: StoredRow) -> bool:
    return (
        bool(found.etag and row.etag and found.etag != row.etag)
        or (found.size is not None and row.size not in (UNKNOWN_SIZE, found.size))
        or bool(found.version_id and row.version_id and found.version_id != row.version_id)
    )


def suspects(objects: DataFrame, rows: DataFrame) -> DataFrame:
    """Return `key` and `what` of all pairs that differ by `of`, each key once.

    `objects` has the columns of `Object`, `rows` those of `mirror.ROWS`.
    """
    pairs = objects.alias("found").join(rows.alias("row"), "key", "full_outer")
    what = (
        F.when(F.col("row.time").isNull(), F.lit(What.MISSING.value))
        .when(F.col("found.bucket").isNull(), F.lit(What.EXTRA.value))
        .when(_stale(), F.lit(What.STALE.value))
    )
    differing = pairs.select("key", what.alias("what"))
    return differing.where(F.col("what").isNotNull()).dropDuplicates(["key"])


def _stale() -> Column:
    """Return `of`'s STALE as a condition on columns; what is unknown is null, so not true."""
    size = _unless("row.size", UNKNOWN_SIZE)
    version = _unless("found.version_id", "")
    return (
        (F.col("row.time") == "")
        | F.coalesce(_unless("found.etag", "") != _unless("row.etag", ""), F.lit(col=False))
        | F.coalesce(F.col("found.size") != size, F.lit(col=False))
        | F.coalesce(version != _unless("row.version_id", ""), F.lit(col=False))
    )


def _unless(column: str, nothing: str | int) -> Column:
    return F.when(F.col(column) != nothing, F.col(column))
