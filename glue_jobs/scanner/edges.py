"""What is worth an alert: today's findings beside what was told before.

An alert is *open* from when it is told until its finding is gone. A finding is told when no alert
is open for it (`new`), and again when it has grown by some per cent since it was last told
(`worse`); neither within the cooldown, which also keeps a finding quiet that comes and goes. One
that no rule of the bucket takes is told to nobody, so it is not remembered as told (`unmatched`).
All else is `same`. A finding that is gone closes its alert (`cleared`), which sends nothing: there
is no such event, and the report says it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.types import (
    BooleanType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

_PLACE: Final = ["kind", "key"]
TOLD: Final = ("new", "worse")
"""The states that send an event."""
UNMATCHED: Final = "unmatched"
"""The state of what would be told, and no rule takes it."""
EDGES: Final = StructType(
    [
        StructField("kind", StringType()),
        StructField("key", StringType()),
        StructField("count", LongType()),
        StructField("versions", LongType()),
        StructField("bytes", LongType()),
        StructField("state", StringType()),
        StructField("told", LongType()),
        StructField("told_at", TimestampType()),
        StructField("open", BooleanType()),
    ]
)
"""A finding, or what is remembered of one.

`count` is what its threshold is about: versions, bytes or sub-folders, None where it was not found.
`told` is the count of the last alert, and `told_at` its time. `state` is None where there is only
something to remember.
"""


@dataclass(frozen=True, slots=True)
class Rules:
    """When a finding is told again: `worse` in per cent, `cooldown` in seconds."""

    worse: int
    cooldown: float


def found(versions: DataFrame | None, folders: DataFrame) -> DataFrame:
    """The findings of `versions.findings` and `folders.findings` as one: the first of `EDGES`."""
    nothing = sql.lit(None).cast("long")
    big = folders.select(*_PLACE, sql.col("folders").alias("count"), nothing, nothing)
    if versions is None:
        return big.toDF(*_PLACE, "count", "versions", "bytes")
    count = sql.when(sql.col("kind") == "LargeVersions", sql.col("bytes"))
    count = count.otherwise(sql.col("versions")).alias("count")
    return versions.select(*_PLACE, count, "versions", "bytes").union(big)


def compared(
    today: DataFrame,
    before: DataFrame,
    *,
    at: datetime,
    rules: Rules,
    looked: Column,
    taken: Column | None = None,
) -> DataFrame:
    """Today's findings and all that is to be remembered, as rows of `EDGES`.

    `before` is what the last comparison gave. `looked` says of a remembered kind and key whether
    this scan would have found it; what was out of its sight stays as it is. `taken` says of a
    finding whether a rule takes its event; without it, one does.
    """
    remembered = before.select(*_PLACE, "told", "told_at", "open")
    both = today.join(remembered, _PLACE, "full_outer")
    there = sql.col("count").isNotNull()
    calm = sql.col("told_at").isNull() | (
        sql.col("told_at") <= sql.lit(at - timedelta(seconds=rules.cooldown))
    )
    is_open = sql.coalesce(sql.col("open"), sql.lit(False))  # noqa: FBT003 - a column's value
    due = there & calm & (~is_open | _worse(rules.worse))
    state = (
        sql.when(due & (sql.lit(False) if taken is None else ~taken), UNMATCHED)  # noqa: FBT003
        .when(due & ~is_open, "new")
        .when(due, "worse")
        .when(there, "same")
        .when(is_open & looked, "cleared")
    )
    judged = both.withColumn("state", state)
    forgotten = sql.col("state").isNull() & ((calm & looked) | sql.col("told_at").isNull())
    tells = sql.coalesce(sql.col("state").isin(*TOLD), sql.lit(False))  # noqa: FBT003
    closes = sql.col("state").eqNullSafe("cleared")
    return judged.where(~forgotten).select(
        *_PLACE,
        "count",
        "versions",
        "bytes",
        "state",
        sql.when(tells, sql.col("count")).otherwise(sql.col("told")).alias("told"),
        sql.when(tells, sql.lit(at)).otherwise(sql.col("told_at")).alias("told_at"),
        ((is_open | tells) & ~closes).alias("open"),
    )


def _worse(per_cent: int) -> Column:
    """Whether the count has grown by so much; as doubles, whose product cannot overflow."""
    count, told = sql.col("count").cast("double"), sql.col("told").cast("double")
    return (count > told) & (count - told >= told * (per_cent / 100))
