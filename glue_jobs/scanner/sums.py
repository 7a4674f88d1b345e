"""Sum up a listing in one pass: by folder, by class, and by the keys that may be findings.

Whatever is counted of a bucket (`counting`, `usage`) comes from these sums, so that a scan reads
its source once. The keys themselves are not among them: there may be ten billion.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

COLUMNS: Final = ("key", "size", "is_latest", "is_delete_marker", "last_modified", "storage_class")
"""The columns of `LISTING` that are summed up."""
_KIB: Final = 1 << 10
_MIB: Final = 1 << 20
SIZE_CLASSES: Final = (
    ("LESS_THAN_1024_B", _KIB),
    ("BETWEEN_1024_B_AND_64_KB", 64 * _KIB),
    ("BETWEEN_64_KB_AND_256_KB", 256 * _KIB),
    ("BETWEEN_256_KB_AND_512_KB", 512 * _KIB),
    ("BETWEEN_512_KB_AND_1_MB", _MIB),
    ("BETWEEN_1_MB_AND_10_MB", 10 * _MIB),
    ("BETWEEN_10_MB_AND_64_MB", 64 * _MIB),
    ("BETWEEN_64_MB_AND_128_MB", 128 * _MIB),
    ("BETWEEN_128_MB_AND_512_MB", 512 * _MIB),
    ("GREATER_THAN_512_MB", None),
)
"""MinIO's classes of sizes, each with the first size beyond it; the last has none."""
AGE_CLASSES: Final = (
    ("<1d", timedelta(days=1)),
    ("<7d", timedelta(days=7)),
    ("<30d", timedelta(days=30)),
    ("<90d", timedelta(days=90)),
    ("<1y", timedelta(days=365)),
    (">=1y", None),
)
"""The classes of ages, each with the first age beyond it."""
_GROUPS: Final = {"folder": "binary", "hash": "long", "storage": "string", "place": "int"}
_MIN_BUCKETS: Final = 1 << 16  # what fits in a processor's cache and Spark's fast hash map
_ROW_BYTES: Final = 32
"""A row's size in a source's files, of the columns that are summed up, at least."""
_VERSION_BYTES: Final = 1 << 24
"""The size of a version, on average at most; if it is more, some hashes are counted in vain."""


class Thresholds(NamedTuple):
    """What is too many: more `versions` of a key, at least `bytes` of them, more `folders`.

    `versions` and `bytes` are None where the listing has no versions, `bytes` also where it has no
    sizes.
    """

    folders: int
    versions: int | None = None
    bytes: int | None = None


def sum_up(listing: DataFrame, taken: datetime, thresholds: Thresholds) -> DataFrame:
    """Return the sums of rows of `LISTING`, which are read once and kept on the workers' disks.

    One of the columns `folder`, `hash` and `place` says what a row sums up:

    - `folder`: all below this path and no other; it is "a/b/" of the key "a/b/c", as bytes, which
      are faster to group by. Keys without a slash are in no folder.
    - `place`: all of a `storage` class, a class of size and one of age at the time `taken`, whose
      places in `SIZE_CLASSES` and `AGE_CLASSES` are its quotient and remainder by
      `len(AGE_CLASSES) + 1`. Where the listing does not say, and of delete markers but for their
      ages, the storage is None and a place the one after the last.
    - `hash`: versions of the keys with this hash (`hash_key`), if a key with too many versions or
      bytes may be among them.

    `versions` is their number, with the `noncurrent` ones and the `markers`, which are all delete
    markers; `bytes` are of all versions, `noncurrent_bytes` of the noncurrent ones.
    """
    many, large = thresholds.versions, thresholds.bytes
    size, marker = sql.coalesce("size", sql.lit(0)), sql.col("is_delete_marker")
    hash_ = hash_key(listing, thresholds)
    noncurrent = ~sql.col("is_latest") & ~marker
    named = listing.select(
        size.alias("bytes"),
        noncurrent.cast("long").alias("noncurrent"),
        marker.cast("long").alias("markers"),
        sql.when(noncurrent, size).otherwise(0).alias("noncurrent_bytes"),
        # `unpivot` would do, but its rows are not taken from the cache when they are joined.
        sql.inline(sql.array(*_groups(hash_, size, taken, thresholds))),
    )
    sums = (
        named.where("folder is not null or hash is not null or place is not null")
        .groupBy(*_GROUPS)
        .agg(
            sql.count("*").alias("versions"),
            *map(_sum, ("noncurrent", "markers", "bytes", "noncurrent_bytes")),
        )
    )
    likely = (sql.col("versions") >= sql.lit(many)) | at_least(sql.col("bytes"), _half(large))
    return sums.where(sql.col("hash").isNull() | likely).persist(StorageLevel.DISK_ONLY)


def hash_key(listing: DataFrame, thresholds: Thresholds) -> Column:
    """Return the hash of a listing's key, of few values, so that a task's sums of them are small.

    They are as many as keep those without findings below the thresholds. The rows are estimated by
    the size of their files, since their number is not known before they are read. It is the same
    for each call with one DataFrame, whose plan is optimized once: both passes must agree.
    """
    found: Any = listing._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()  # noqa: SLF001
    rows = int(found) // _ROW_BYTES
    many = min(thresholds.versions or 0, (thresholds.bytes or 1 << 62) // 2 // _VERSION_BYTES)
    return bucket("key", bucket_count(rows, many))


def bucket(name: str | Column, buckets: int) -> Column:
    """Return the hash bucket of a name; `buckets` is a power of two."""
    return sql.xxhash64(name).bitwiseAND(sql.lit(buckets - 1))


def bucket_count(rows: int, many: int) -> int:
    """Return the fewest hash buckets that keep ordinary ones below nine tenths of the threshold."""
    wanted = rows // max(1, many * 9 // 10)
    return max(_MIN_BUCKETS, 1 << wanted.bit_length())


def at_least(size: Column, large: int | None) -> Column:
    return sql.lit(False) if large is None else size >= large  # noqa: FBT003 - a column's value


def parent(name: str) -> Column:
    """Return a name up to and with its last slash, as bytes."""
    last = f"octet_length(substring_index({name}, '/', -1))"
    return sql.expr(f"substring(cast({name} as binary), 1, octet_length({name}) - {last})")


def _groups(hash_: Column, size: Column, taken: datetime, thresholds: Thresholds) -> list[Column]:
    many, large = thresholds.versions, thresholds.bytes
    groups = [
        _group(folder=sql.when(sql.col("key").contains("/"), parent("key"))),
        _class(taken),
    ]
    if many is not None:
        half = at_least(size, _half(large))
        counted = ~sql.col("is_latest") | sql.lit(many < 1) | half
        groups.append(_group(hash=sql.when(counted, hash_)))
    return groups


def _group(**found: Column) -> Column:
    """Return a group of all columns, as a struct in a column costs a tenth of the pass."""
    return sql.struct(
        *(found.get(name, sql.lit(None)).cast(kind).alias(name) for name, kind in _GROUPS.items())
    )


def _class(taken: datetime) -> Column:
    marker, size, modified = sql.col("is_delete_marker"), sql.col("size"), sql.col("last_modified")
    smaller = [size < end for _, end in SIZE_CLASSES if end]
    # As times: the difference of two would be computed by a calendar, which takes longer than all
    # else here.
    younger = [modified > sql.lit(taken - end) for _, end in AGE_CLASSES if end]
    sizes = _place(sql.when(~marker, size), smaller)
    return _group(
        storage=sql.when(~marker, sql.col("storage_class")),
        place=sizes * (len(AGE_CLASSES) + 1) + _place(modified, younger),
    )


def _place(value: Column, conditions: Sequence[Column]) -> Column:
    """Return the place of the first condition that holds, or of the end; the next for no value."""
    found = sql.when(value.isNull(), len(conditions) + 1)
    for place, condition in enumerate(conditions):
        found = found.when(condition, place)
    return found.otherwise(len(conditions))


def _half(large: int | None) -> int | None:
    """Return half of a size: of a sum that large, the current version has half, or the others."""
    return None if large is None else large // 2


def _sum(name: str) -> Column:
    return sql.sum(name).alias(name)
