"""Prefixes with too many sub-folders directly below them, exact at every depth."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from glue_jobs.scanner import candidates

_BUCKETS: Final = 1 << 16  # what fits in a processor's cache and Spark's fast hash map
_BAND: Final = 16


def findings(listing: DataFrame, *, many: int) -> DataFrame:
    """Return prefixes with more than `many` direct sub-folders: rows of (kind, key, folders).

    `kind` is BigPrefix; `key` is the prefix with its slash, "" for the bucket itself. A sub-folder
    of P is what follows P in a key up to and with the next slash, even if that is the slash alone.
    The listing is read once.
    """
    crowded = sql.count("*") > many
    # A prefix has no more sub-folders than paths below it, and no more paths than its parents. So
    # only the levels just below a crowded one are counted: with keys hundreds of levels deep, all
    # prefixes of all paths would be a hundred times as many as the keys.
    banded = _leveled(_paths(listing), sql.lit(0), sql.col("depth") - 1, _BAND)
    near = candidates.only(_hashed(banded), crowded)
    bottom = sql.least(sql.col("level") + (_BAND - 1), sql.col("depth") - 1)
    likely = candidates.only(_hashed(_leveled(near, sql.col("level"), bottom, 1)), crowded)
    folders = likely.select(sql.expr("substring_index(path, '/', level + 1)").alias("folder"))
    above = _above("folder").cast("string").alias("key")
    counted = folders.distinct().groupBy(above).agg(sql.count("*").alias("folders"))
    return counted.where(sql.col("folders") > many).select(
        sql.lit("BigPrefix").alias("kind"), "key", "folders"
    )


def _paths(listing: DataFrame) -> DataFrame:
    """Return the distinct folder paths, "a/b/" of the key "a/b/c", and their depths."""
    inside = listing.where(sql.col("key").contains("/"))
    path = (
        inside.select(_above("key").alias("path")).distinct().select(sql.col("path").cast("string"))
    )
    return path.withColumn("depth", sql.expr("length(path) - length(replace(path, '/', ''))"))


def _above(name: str) -> Column:
    """Return a name up to and with its last slash, as bytes, which are faster to count."""
    last = f"octet_length(substring_index({name}, '/', -1))"
    return sql.expr(f"substring(cast({name} as binary), 1, octet_length({name}) - {last})")


def _leveled(paths: DataFrame, top: Column, bottom: Column, step: int) -> DataFrame:
    """Return paths, once for each `step`th level from top to bottom; level 0 is the bucket."""
    return paths.select(
        "path", "depth", sql.explode(sql.sequence(top, bottom, sql.lit(step))).alias("level")
    )


def _hashed(leveled: DataFrame) -> DataFrame:
    prefix = sql.expr("substring_index(path, '/', level)")
    return leveled.withColumn("bucket", candidates.bucket(prefix, _BUCKETS))
