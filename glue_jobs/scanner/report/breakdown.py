"""Break a finding down by age and sub-folder.

A second pass over the listing, for some findings only: a broadcast join leads each row to the
findings that it is under, whatever the number of rows.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as sql

AGES: Final = (("<1d", 1), ("<7d", 7), ("<30d", 30), ("<90d", 90), ("<1y", 365))
"""The age classes of versions, in days, each up to the next; the rest is `OLDER`."""
OLDER: Final = "older"
UNKNOWN: Final = "unknown"
"""The age of versions without a time in the listing."""
FOLDERS: Final = 10
"""How many sub-folders are named, the largest first."""
_DAY: Final = 86_400
_GROUP: Final = ["kind", "key"]


def under(objects: DataFrame, findings: Sequence[Row]) -> DataFrame:
    """Return the rows under these findings: (kind, key, object, …), one per finding it is under.

    The findings are few, so they are broadcast.
    """
    spark = objects.sparkSession
    rows = [(each.kind, each.key, each.kind == "BigPrefix") for each in findings]
    locations = spark.createDataFrame(rows, "kind string, location string, folder boolean")
    depths = sorted({each.key.count("/") for each in findings if each.kind == "BigPrefix"})
    about = objects.select(
        sql.col("key").alias("object"),
        "is_latest",
        "is_delete_marker",
        "last_modified",
        sql.coalesce("size", sql.lit(0)).alias("size"),
        sql.explode(_candidates(depths)).alias("candidate"),
    ).select("*", "candidate.location", "candidate.folder")
    return about.join(sql.broadcast(locations), ["location", "folder"]).withColumnRenamed(
        "location", "key"
    )


def slices(rows: DataFrame, taken: datetime) -> DataFrame:
    """Sum up each finding by (kind, key, age, old).

    `old` is whether the versions are noncurrent; of each slice there are the `versions`, their
    `bytes`, and how many of them are delete `markers`.
    """
    return rows.groupBy(
        *_GROUP, _age(taken).alias("age"), (~sql.col("is_latest")).alias("old")
    ).agg(
        sql.count("*").alias("versions"),
        sql.sum("size").alias("bytes"),
        sql.count_if("is_delete_marker").alias("markers"),
    )


def folders(rows: DataFrame) -> DataFrame:
    """Return the largest sub-folders of each prefix: (kind, key, folder, versions, bytes, rank)."""
    deeper = rows.where("kind = 'BigPrefix'").withColumn(
        "rest", sql.expr("substring(object, length(key) + 1)")
    )
    name = sql.concat(sql.substring_index("rest", "/", 1), sql.lit("/"))
    counted = (
        deeper.where(sql.col("rest").contains("/"))
        .groupBy(*_GROUP, name.alias("folder"))
        .agg(sql.count("*").alias("versions"), sql.sum("size").alias("bytes"))
    )
    largest = Window.partitionBy(*_GROUP).orderBy(sql.desc("bytes"), sql.desc("versions"), "folder")
    return counted.withColumn("rank", sql.row_number().over(largest)).where(
        sql.col("rank") <= FOLDERS
    )


def _candidates(depths: Sequence[int]) -> Column:
    """Return what a row may be under: its own key, and its prefixes of a finding's depth.

    The key of depth 0 is "", the bucket itself.
    """
    itself = sql.struct(sql.col("key").alias("location"), sql.lit(False).alias("folder"))  # noqa: FBT003
    if not depths:
        return sql.array(itself)
    levels = sql.array(*map(sql.lit, depths))
    slashes = sql.length("key") - sql.length(sql.translate("key", "/", ""))

    def prefix(depth: Column) -> Column:
        above = sql.call_function("substring_index", sql.col("key"), sql.lit("/"), depth)
        location = sql.when(depth == 0, "").otherwise(sql.concat(above, sql.lit("/")))
        return sql.struct(location.alias("location"), sql.lit(True).alias("folder"))  # noqa: FBT003

    above = sql.transform(sql.filter(levels, lambda depth: depth <= slashes), prefix)
    return sql.concat(sql.array(itself), above)


def _age(taken: datetime) -> Column:
    seconds = sql.unix_timestamp(sql.lit(taken)) - sql.unix_timestamp("last_modified")
    age = sql.when(seconds.isNull(), UNKNOWN)
    for name, days in AGES:
        age = age.when(seconds < days * _DAY, name)
    return age.otherwise(OLDER)
