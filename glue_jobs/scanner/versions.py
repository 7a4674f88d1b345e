"""Objects with too many versions, or with too large a total size of versions."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from glue_jobs.scanner import candidates

_FEWEST: Final = 1 << 12
_MOST: Final = 1 << 24  # at worst the driver holds them all, in some 500 MB


def findings(listing: DataFrame, *, many: int, large: int | None) -> DataFrame:
    """Return objects with more than `many` versions, and those of at least `large` bytes in all.

    Rows of (kind, key, versions, bytes): kind is ManyVersions or LargeVersions; an object that is
    both has a row of each. `large` is None where the listing has no sizes: then `bytes` is None and
    LargeVersions are not looked for. Delete markers count as versions, as in MinIO. The listing is
    counted at once, and read up to twice when the rows are evaluated.
    """
    number = sql.count("*")
    size = sql.coalesce(sql.sum("size"), sql.lit(0))
    if large is None:
        size = sql.lit(None).cast("long")
    buckets = _buckets(listing.count(), many)
    hashed = listing.select("key", "size", candidates.bucket(sql.col("key"), buckets))
    likely = candidates.only(hashed, (number > many) | _at_least(size, large))
    counted = likely.groupBy("key").agg(number.alias("versions"), size.alias("bytes"))
    kinds = sql.array_compact(
        sql.array(
            sql.when(sql.col("versions") > many, sql.lit("ManyVersions")),
            sql.when(_at_least(sql.col("bytes"), large), sql.lit("LargeVersions")),
        )
    )
    return counted.select(sql.explode(kinds).alias("kind"), "key", "versions", "bytes")


def _at_least(size: Column, large: int | None) -> Column:
    return sql.lit(False) if large is None else size >= large  # noqa: FBT003 - a column's value


def _buckets(rows: int, many: int) -> int:
    """Return the fewest hash buckets that keep ordinary ones below nine tenths of the threshold.

    More are slower: up to 65,536 fit in a processor's cache and Spark's fast hash map.
    """
    wanted = rows // max(1, many * 9 // 10)
    return max(_FEWEST, min(_MOST, 1 << wanted.bit_length()))
