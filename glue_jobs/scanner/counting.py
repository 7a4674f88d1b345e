"""Find objects with too many versions, and prefixes with too many sub-folders, exactly.

Counting by name would shuffle all names. So names are hashed into a fixed number of buckets, and
the buckets are counted: that takes a small table in each task and shuffles next to nothing. A name
with more rows than a threshold is in a bucket with more rows than that, so only the rows of such
buckets are then counted by name. Names that share a bucket by chance cost time, but no precision.

`docs/adr/0028-counting-by-candidates.md`
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

_MIN_VERSION_BUCKETS: Final = 1 << 12
_MAX_VERSION_BUCKETS: Final = 1 << 24  # at worst the driver holds them all, in some 500 MB
_FOLDER_BUCKETS: Final = 1 << 16  # what fits in a processor's cache and Spark's fast hash map
_BAND: Final = 16


def count_versions(listing: DataFrame, *, many: int, large: int | None) -> DataFrame:
    """Return objects with more than `many` versions, and those of at least `large` bytes in all.

    Rows of (kind, key, versions, bytes): kind is ManyVersions or LargeVersions; an object that is
    both has a row of each. `large` is None where the listing has no sizes: then `bytes` is None and
    there are no LargeVersions. Delete markers count as versions, as in MinIO. The listing is
    counted at once, and read up to twice when the rows are evaluated.
    """
    number = sql.count("*")
    size = sql.coalesce(sql.sum("size"), sql.lit(0))
    if large is None:
        size = sql.lit(None).cast("long")
    buckets = _version_buckets(listing.count(), many)
    hashed = listing.select("key", "size", _bucket(sql.col("key"), buckets))
    likely = _candidates(hashed, (number > many) | _at_least(size, large))
    counted = likely.groupBy("key").agg(number.alias("versions"), size.alias("bytes"))
    kinds = sql.array_compact(
        sql.array(
            sql.when(sql.col("versions") > many, sql.lit("ManyVersions")),
            sql.when(_at_least(sql.col("bytes"), large), sql.lit("LargeVersions")),
        )
    )
    return counted.select(sql.explode(kinds).alias("kind"), "key", "versions", "bytes")


def count_folders(listing: DataFrame, *, many: int) -> DataFrame:
    """Return prefixes with more than `many` direct sub-folders: rows of (kind, key, folders).

    `kind` is BigPrefix; `key` is the prefix with its slash, "" for the bucket itself. A sub-folder
    of P is what follows P in a key up to and with the next slash, even if that is the slash alone.
    The listing is read once.
    """
    crowded = sql.count("*") > many
    # A prefix has no more sub-folders than paths below it, and no more paths than its parents. So
    # only the levels just below a crowded one are counted: with keys hundreds of levels deep, all
    # prefixes of all paths would be a hundred times as many as the keys.
    banded = _explode_levels(_folder_paths(listing), sql.lit(0), sql.col("depth") - 1, _BAND)
    near = _candidates(_hash_prefixes(banded), crowded)
    bottom = sql.least(sql.col("level") + (_BAND - 1), sql.col("depth") - 1)
    leveled = _explode_levels(near, sql.col("level"), bottom, 1)
    likely = _candidates(_hash_prefixes(leveled), crowded)
    folders = likely.select(sql.expr("substring_index(path, '/', level + 1)").alias("folder"))
    prefix = _parent("folder").cast("string").alias("key")
    counted = folders.distinct().groupBy(prefix).agg(sql.count("*").alias("folders"))
    return counted.where(sql.col("folders") > many).select(
        sql.lit("BigPrefix").alias("kind"), "key", "folders"
    )


def _bucket(name: Column, buckets: int) -> Column:
    """Return the hash bucket of a name, for `_candidates`; `buckets` is a power of two."""
    return sql.xxhash64(name).bitwiseAND(sql.lit(buckets - 1)).alias("bucket")


def _candidates(rows: DataFrame, crowded: Column) -> DataFrame:
    """Return the rows of crowded buckets, without their column `bucket`.

    `crowded` is a condition on the aggregates of one bucket, which each name to be found meets by
    itself, and which adding rows never undoes. `rows` are read twice, or once if no bucket is
    crowded.
    """
    counted = rows.groupBy("bucket").agg(crowded.alias("crowded"))
    buckets = counted.where("crowded").select("bucket")
    return rows.join(sql.broadcast(buckets), "bucket", "left_semi").drop("bucket")


def _at_least(size: Column, large: int | None) -> Column:
    return sql.lit(False) if large is None else size >= large  # noqa: FBT003 - a column's value


def _version_buckets(rows: int, many: int) -> int:
    """Return the fewest hash buckets that keep ordinary ones below nine tenths of the threshold.

    More are slower: up to 65,536 fit in a processor's cache and Spark's fast hash map.
    """
    wanted = rows // max(1, many * 9 // 10)
    return max(_MIN_VERSION_BUCKETS, min(_MAX_VERSION_BUCKETS, 1 << wanted.bit_length()))


def _folder_paths(listing: DataFrame) -> DataFrame:
    """Return the distinct folder paths, "a/b/" of the key "a/b/c", and their depths."""
    inside = listing.where(sql.col("key").contains("/"))
    folders = inside.select(_parent("key").alias("path")).distinct()
    paths = folders.select(sql.col("path").cast("string"))
    return paths.withColumn("depth", sql.expr("length(path) - length(replace(path, '/', ''))"))


def _parent(name: str) -> Column:
    """Return a name up to and with its last slash, as bytes, which are faster to count."""
    last = f"octet_length(substring_index({name}, '/', -1))"
    return sql.expr(f"substring(cast({name} as binary), 1, octet_length({name}) - {last})")


def _explode_levels(paths: DataFrame, top: Column, bottom: Column, step: int) -> DataFrame:
    """Return paths, once for each `step`th level from top to bottom; level 0 is the bucket."""
    return paths.select(
        "path", "depth", sql.explode(sql.sequence(top, bottom, sql.lit(step))).alias("level")
    )


def _hash_prefixes(leveled: DataFrame) -> DataFrame:
    prefix = sql.expr("substring_index(path, '/', level)")
    return leveled.withColumn("bucket", _bucket(prefix, _FOLDER_BUCKETS))
