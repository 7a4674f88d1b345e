"""The scanner's counts at the edges: thresholds, odd keys, and the shapes that fill memory."""

from collections.abc import Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from glue_jobs.listing.schema import LISTING
from glue_jobs.scanner.counting import find
from glue_jobs.scanner.sums import Thresholds, sum_up
from tests.glue.inventories import TAKEN, Row

pytestmark = pytest.mark.one_spark
MIB = 1 << 20
MAX = 1 << 60


def test_many_versions_are_more_than_the_threshold(spark: SparkSession) -> None:
    listing = _listing(spark, [("a", 1)] * 3)
    assert _objects(listing, many=2) == [("ManyVersions", "a", 3, 3)]
    assert _objects(listing, many=3) == []


def test_large_versions_are_at_least_the_threshold(spark: SparkSession) -> None:
    listing = _listing(spark, [("a", 10), ("a", 20), ("a", None), ("b", 1)])
    assert _objects(listing, large=30) == [("LargeVersions", "a", 3, 30)]
    assert _objects(listing, large=31) == []


def test_an_object_beyond_both_thresholds_has_two_findings(spark: SparkSession) -> None:
    listing = _listing(spark, [("a", 10), ("a", 20), ("b", 1)])
    both = [("LargeVersions", "a", 2, 30), ("ManyVersions", "a", 2, 30)]
    assert _objects(listing, many=1, large=30) == both


def test_delete_markers_and_unknown_sizes_count_as_no_bytes(
    spark: SparkSession,
) -> None:
    listing = _listing(spark, [("a", None), ("a", 0), ("b", None)])
    assert _objects(listing, many=1) == [("ManyVersions", "a", 2, 0)]


def test_a_big_prefix_has_more_folders_than_the_threshold(spark: SparkSession) -> None:
    listing = _listing(spark, [(f"p/{name}/x", 1) for name in "aabbcc"])
    assert _prefixes(listing, 2) == {"p/": 3}
    assert _prefixes(listing, 3) == {}


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        (["a/b", "a-b", "a-b/c", "a.b/c"], {"": 3}),
        (["a", "b", "c"], {}),
        (["/", "//", "///"], {"": 1, "/": 1, "//": 1}),
        (["a//b", "a/b/c", "//", "b/"], {"": 3, "a/": 2, "/": 1}),
        (["ä/ö/ü", "ä/ o/ü", "ä/o\u0308/ü", "日本/🪣/x"], {"": 2, "ä/": 3, "日本/": 1}),
        (["%2F/x", "a\n/x", "a/b\u2028/x"], {"": 3, "a/": 1}),
        ([], {}),
    ],
)
def test_sub_folders_end_at_the_next_slash(
    spark: SparkSession, keys: list[str], found: dict[str, int]
) -> None:
    assert _prefixes(_listing(spark, [(key, 1) for key in keys]), 0) == found


def test_versions_of_one_object_make_no_folder_twice(spark: SparkSession) -> None:
    assert _prefixes(_listing(spark, [("a/b/c", 1)] * 5), 0) == {"": 1, "a/": 1}


def test_a_prefix_of_two_hundred_thousand_children_is_counted(spark: SparkSession) -> None:
    key = sql.concat(sql.lit("data/all/"), sql.col("id"), sql.lit("/part"))
    listing = _current(spark.range(200_000).select(key.alias("key")))
    assert _prefixes(listing, 50_000) == {"data/all/": 200_000}
    assert _objects(listing, many=1) == []


def test_one_object_of_three_hundred_thousand_versions_is_counted(spark: SparkSession) -> None:
    hot = sql.when(sql.col("id") < 300_000, "hot").otherwise(sql.concat(sql.lit("k/"), "id"))
    latest = (sql.col("id") >= 300_000) | (sql.col("id") == 7)
    size = sql.lit(MIB).cast("long")
    listing = _complete(
        spark.range(400_000).select(hot.alias("key"), size.alias("size"), latest.alias("is_latest"))
    )
    many = ("ManyVersions", "hot", 300_000, 300_000 * MIB)
    assert _objects(listing, many=1_000) == [many]


@pytest.mark.parametrize("level", [0, 16, 500])
def test_a_big_prefix_is_found_however_deep_it_lies(spark: SparkSession, level: int) -> None:
    """Below it the paths go on to 500 levels, as far as a key of 1,024 bytes lets them."""
    above, below = "d/" * level, "e/" * (500 - level)
    name = sql.concat(sql.lit(above), sql.format_string("%03d", "id"), sql.lit(f"/{below}x"))
    listing = _current(spark.range(200).select(name.alias("key")))
    assert _prefixes(listing, 199) == {above: 200}
    assert _prefixes(listing, 200) == {}


def test_every_level_of_deep_paths_is_counted(spark: SparkSession) -> None:
    """The path branches at each of 300 levels: two folders in each prefix but the last."""
    keys = [("s/" * level + name + "/x", 1) for level in range(300) for name in "st"]
    prefixes = _prefixes(_listing(spark, keys), 1)
    assert prefixes == {"s/" * level: 2 for level in range(300)}


def _listing(spark: SparkSession, rows: Sequence[tuple[str, int | None]]) -> DataFrame:
    """Return a listing in which the first row of a key is its current version."""
    current: set[str] = set()
    listed = []
    for key, size in rows:
        listed.append(Row("uploads", key, is_latest=key not in current, size=size))
        current.add(key)
    return spark.createDataFrame(listed, LISTING)


def _current(keys: DataFrame) -> DataFrame:
    """Return a listing of current objects with these keys."""
    one = sql.lit(1).cast("long")
    return _complete(keys.select("key", one.alias("size"), sql.lit(True).alias("is_latest")))  # noqa: FBT003


def _complete(listing: DataFrame) -> DataFrame:
    """Return a listing without delete markers, times and storage classes."""
    null = sql.lit(None)
    return listing.select(
        "*",
        sql.lit(False).alias("is_delete_marker"),  # noqa: FBT003
        null.cast("timestamp").alias("last_modified"),
        null.cast("string").alias("storage_class"),
    )


def _find(listing: DataFrame, thresholds: Thresholds) -> DataFrame:
    return find(listing, sum_up(listing, TAKEN, thresholds), thresholds)


def _objects(
    listing: DataFrame, *, many: int = MAX, large: int = MAX
) -> list[tuple[str, str, int, int]]:
    rows = _find(listing, Thresholds(MAX, many, large)).select("kind", "key", "versions", "bytes")
    return sorted(tuple(row) for row in rows.collect())


def _prefixes(listing: DataFrame, many: int) -> dict[str, int]:
    rows = _find(listing, Thresholds(many)).collect()
    assert {row.kind for row in rows} <= {"BigPrefix"}
    counts = {row.key: row["count"] for row in rows}
    assert len(counts) == len(rows), "a prefix occurs twice"
    return counts
