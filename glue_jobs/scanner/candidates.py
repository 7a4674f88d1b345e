"""Find the rows that may belong to a finding, without counting every name.

Names are hashed into a fixed number of buckets and the buckets are counted: that takes a small
table in each task and shuffles next to nothing, where counting by name shuffles all names. A name
with more rows than a threshold is in a bucket with more rows than that, so only the rows of such
buckets are then counted by name. Names that share a bucket by chance cost time, but no precision.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql


def bucket(name: Column, buckets: int) -> Column:
    """Return the hash bucket of a name, for `only`; `buckets` is a power of two."""
    return sql.xxhash64(name).bitwiseAND(sql.lit(buckets - 1)).alias("bucket")


def only(rows: DataFrame, crowded: Column) -> DataFrame:
    """Return the rows of crowded buckets, without their column `bucket`.

    `crowded` is a condition on the aggregates of one bucket, which each name to be found meets by
    itself, and which adding rows never undoes. `rows` are read twice, or once if no bucket is
    crowded.
    """
    counted = rows.groupBy("bucket").agg(crowded.alias("crowded"))
    found = counted.where("crowded").select("bucket")
    return rows.join(sql.broadcast(found), "bucket", "left_semi").drop("bucket")
