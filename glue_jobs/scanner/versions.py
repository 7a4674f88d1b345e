"""Objects with too many versions, or whose versions are too large together."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql


def findings(listing: DataFrame, *, many: int, large: int) -> DataFrame:
    """Objects with more than `many` versions and objects of at least `large` bytes in all.

    Rows of (kind, key, versions, bytes): kind is ManyVersions or LargeVersions, an object that is
    both stands there twice. Delete markers count as versions, as in MinIO.
    """
    counted = listing.groupBy("key").agg(
        sql.count("*").alias("versions"), sql.coalesce(sql.sum("size"), sql.lit(0)).alias("bytes")
    )
    kinds = sql.array_compact(
        sql.array(
            sql.when(sql.col("versions") > many, sql.lit("ManyVersions")),
            sql.when(sql.col("bytes") >= large, sql.lit("LargeVersions")),
        )
    )
    return counted.select(sql.explode(kinds).alias("kind"), "key", "versions", "bytes")
