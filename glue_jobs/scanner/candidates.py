"""Rows that may belong to a finding, found without counting each thing by its name.

Names are hashed into a fixed number of buckets and the buckets are counted: that takes a small
table in each task and shuffles next to nothing, where counting by name shuffles all names. A thing
with more rows than a threshold is surely in a bucket with more rows than that, so only the rows of
such buckets are then counted by name. Things that share a bucket by chance cost time, never
exactness.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql


def bucket(name: Column, buckets: int) -> Column:
    """The bucket of a name, for `only`; `buckets` is a power of two."""
    return sql.xxhash64(name).bitwiseAND(sql.lit(buckets - 1)).alias("bucket")


def only(rows: DataFrame, crowded: Column) -> DataFrame:
    """The rows of crowded buckets, without their column `bucket`.

    `crowded` is a condition on the aggregates of one bucket, which each thing to be found meets all
    by itself, and which stays met however many rows are added. `rows` are read twice, and once if
    no bucket is crowded.
    """
    counted = rows.groupBy("bucket").agg(crowded.alias("crowded"))
    found = counted.where("crowded").select("bucket")
    return rows.join(sql.broadcast(found), "bucket", "left_semi").drop("bucket")
