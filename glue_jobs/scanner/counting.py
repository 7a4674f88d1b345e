"""Find objects with too many versions, and prefixes with too many sub-folders, exactly.

Counting all keys by name would shuffle them. But each key has one current version, so a key with
many versions has nearly as many noncurrent ones: `sums` counts only those, by a hash of the key. A
second pass counts the few keys that remain by name, so keys that share a hash by chance are no
error.

A prefix may have many folders below it and few directly below it. So the folders' prefixes are
hashed into a fixed number of buckets, and the buckets are counted: that takes a small table in each
task and shuffles next to nothing. A prefix with more sub-folders than the threshold is in a bucket
with more rows than that, so only the rows of such buckets are counted by name. Prefixes that
share a bucket by chance cost time, but no precision.

`docs/adr/0028-counting-by-candidates.md`
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from bucketcast.event.scanner import BIG_PREFIX, LARGE_VERSIONS, MANY_VERSIONS, Kind
from bucketcast.limits import MOST_SCAN_BUCKETS, MOST_SCAN_HASHES
from glue_jobs.scanner.sums import Thresholds, at_least, bucket, bucket_count, hash_key, parent

_BAND: Final = 16


def find(listing: DataFrame, sums: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Return the findings: rows of (kind, key, count, versions, bytes).

    An object with more than `versions` versions is a ManyVersions, one of at least `bytes` in all
    versions a LargeVersions, and it may be both. Delete markers count as versions, as in MinIO. A
    prefix with more than `folders` direct sub-folders is a BigPrefix; its key ends with the slash,
    "" is the bucket itself. A sub-folder of P is what follows P in a key up to and with the next
    slash, even if that is the slash alone. `count` is what the threshold limits; `bytes` is None
    where the listing has no sizes.

    `sums` are the listing's, by the same thresholds. The listing is read again when the rows are
    evaluated, if any key may have too many versions.
    """
    # Now, so that no two parts of the query read the listing at once.
    rows, hashes = sums.agg(sql.count("*"), sql.count("hash")).collect()[0]
    folders = _count_folders(sums, thresholds.folders, rows)
    if thresholds.versions is None:
        return folders
    likely = sums.select("hash").where("hash is not null")
    if hashes <= MOST_SCAN_HASHES:
        likely = sql.broadcast(likely)
    hashed = listing.withColumn("hash", hash_key(listing, thresholds))
    versions = _count_versions(hashed, likely, thresholds.versions, thresholds.bytes)
    return versions.union(folders)


def _count_versions(
    hashed: DataFrame, likely: DataFrame, many: int, large: int | None
) -> DataFrame:
    counted = (
        hashed.join(likely, "hash", "left_semi")
        .groupBy("key")
        .agg(
            sql.count("*").alias("versions"),
            sql.coalesce(sql.sum("size"), sql.lit(0)).alias("bytes"),
        )
    )
    versions, size = sql.col("versions"), sql.col("bytes")
    findings = sql.array(
        sql.when(versions > many, _finding(MANY_VERSIONS, versions)),
        sql.when(at_least(size, large), _finding(LARGE_VERSIONS, size)),
    )
    known = size if large is not None else sql.lit(None).cast("long")
    found = counted.select(
        sql.explode(sql.array_compact(findings)).alias("finding"),
        "key",
        "versions",
        known.alias("bytes"),
    )
    return found.select("finding.kind", "key", "finding.count", "versions", "bytes")


def _finding(kind: Kind, count: Column) -> Column:
    return sql.struct(sql.lit(kind.name).alias("kind"), count.alias("count"))


def _count_folders(sums: DataFrame, many: int, rows: int) -> DataFrame:
    crowded, buckets = sql.count("*") > many, min(MOST_SCAN_BUCKETS, bucket_count(rows, many))
    path = sql.col("folder").cast("string")
    paths = sums.where("folder is not null").select(path.alias("path"))
    paths = paths.withColumn("depth", sql.expr("length(path) - length(replace(path, '/', ''))"))
    # A prefix has no more sub-folders than paths below it, and no more paths than its parents. So
    # only the levels just below a crowded one are counted: with keys hundreds of levels deep, all
    # prefixes of all paths would be a hundred times as many as the keys.
    banded = _explode_levels(paths, sql.lit(0), sql.col("depth") - 1, _BAND)
    near = _candidates(_hash_prefixes(banded, buckets), crowded)
    bottom = sql.least(sql.col("level") + (_BAND - 1), sql.col("depth") - 1)
    leveled = _explode_levels(near, sql.col("level"), bottom, 1)
    likely = _candidates(_hash_prefixes(leveled, buckets), crowded)
    folders = likely.select(sql.expr("substring_index(path, '/', level + 1)").alias("folder"))
    prefix = parent("folder").cast("string").alias("key")
    counted = folders.distinct().groupBy(prefix).agg(sql.count("*").alias("count"))
    null = sql.lit(None).cast("long")
    return counted.where(sql.col("count") > many).select(
        sql.lit(BIG_PREFIX.name).alias("kind"),
        "key",
        "count",
        null.alias("versions"),
        null.alias("bytes"),
    )


def _candidates(rows: DataFrame, crowded: Column) -> DataFrame:
    """Return the rows of crowded buckets, without their column `bucket`.

    `crowded` is a condition on the aggregates of one bucket, which each name to be found meets by
    itself, and which adding rows never undoes. `rows` are read twice, or once if no bucket is
    crowded.
    """
    counted = rows.groupBy("bucket").agg(crowded.alias("crowded"))
    buckets = counted.where("crowded").select("bucket")
    return rows.join(sql.broadcast(buckets), "bucket", "left_semi").drop("bucket")


def _explode_levels(paths: DataFrame, top: Column, bottom: Column, step: int) -> DataFrame:
    """Return paths, once for each `step`th level from top to bottom; level 0 is the bucket."""
    return paths.select(
        "path", "depth", sql.explode(sql.sequence(top, bottom, sql.lit(step))).alias("level")
    )


def _hash_prefixes(leveled: DataFrame, buckets: int) -> DataFrame:
    prefix = sql.expr("substring_index(path, '/', level)")
    return leveled.withColumn("bucket", bucket(prefix, buckets))
