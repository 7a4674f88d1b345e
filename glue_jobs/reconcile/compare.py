"""Whether an object and a row say the same: told of two tables, and of one pair.

Only what both know is compared. S3 names no eTag everywhere, events leave out sizes, and a row of
an object without versions names none.
"""

from enum import StrEnum
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from bucketcast.held import Held
from glue_jobs.events import Object

UNKNOWN_SIZE: Final = -1
"""MinIO's word for it, in a row."""


class What(StrEnum):
    """What is wrong with a row, from the mirror's side."""

    MISSING = "missing"
    STALE = "stale"
    EXTRA = "extra"


def of(found: Object | None, row: Held | None) -> What | None:
    """What is wrong with the row of an object; None where nothing is."""
    if found is None:
        return What.EXTRA if row else None
    if row is None:
        return What.MISSING
    return What.STALE if not row.time or _differ(found, row) else None


def _differ(found: Object, row: Held) -> bool:
    return (
        bool(found.etag and row.etag and found.etag != row.etag)
        or (found.size is not None and row.size not in (UNKNOWN_SIZE, found.size))
        or bool(found.version_id and row.version_id and found.version_id != row.version_id)
    )


def suspects(objects: DataFrame, rows: DataFrame) -> DataFrame:
    """`key` and `what` of all that `of` has something to say about, each key once.

    `objects` has the columns of `Object`, `rows` those of `mirror.ROWS`.
    """
    pairs = objects.alias("found").join(rows.alias("row"), "key", "full_outer")
    what = (
        F.when(F.col("row.time").isNull(), F.lit(What.MISSING.value))
        .when(F.col("found.bucket").isNull(), F.lit(What.EXTRA.value))
        .when(_stale(), F.lit(What.STALE.value))
    )
    told = pairs.select("key", what.alias("what"))
    return told.where(F.col("what").isNotNull()).dropDuplicates(["key"])


def _stale() -> Column:
    """The same as `of` says it, of columns: what is not known is null, and null is not true."""
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
