"""The usage of a bucket equals the plain oracle's, and says what the source does not tell."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from pyspark.sql import SparkSession

from glue_jobs.listing.schema import LISTING, Listing
from glue_jobs.scanner import usage
from glue_jobs.scanner.sums import Thresholds, sum_up
from glue_jobs.scanner.usage import Usage
from tests.glue import oracle
from tests.glue.inventories import TAKEN, Row

KIB: Final = 1 << 10
MIB: Final = 1 << 20
SIZES: Final = {
    "LESS_THAN_1024_B": (0, KIB - 1),
    "BETWEEN_1024_B_AND_64_KB": (KIB, 64 * KIB - 1),
    "BETWEEN_64_KB_AND_256_KB": (64 * KIB, 256 * KIB - 1),
    "BETWEEN_256_KB_AND_512_KB": (256 * KIB, 512 * KIB - 1),
    "BETWEEN_512_KB_AND_1_MB": (512 * KIB, MIB - 1),
    "BETWEEN_1_MB_AND_10_MB": (MIB, 10 * MIB - 1),
    "BETWEEN_10_MB_AND_64_MB": (10 * MIB, 64 * MIB - 1),
    "BETWEEN_64_MB_AND_128_MB": (64 * MIB, 128 * MIB - 1),
    "BETWEEN_128_MB_AND_512_MB": (128 * MIB, 512 * MIB - 1),
    "GREATER_THAN_512_MB": (512 * MIB, 1 << 60),
}
"""The smallest and the largest size of each class."""
TICK: Final = timedelta(milliseconds=1)
AGES: Final = {
    "<1d": (timedelta(days=-9), timedelta(days=1) - TICK),
    "<7d": (timedelta(days=1), timedelta(days=7) - TICK),
    "<30d": (timedelta(days=7), timedelta(days=30) - TICK),
    "<90d": (timedelta(days=30), timedelta(days=90) - TICK),
    "<1y": (timedelta(days=90), timedelta(days=365) - TICK),
    ">=1y": (timedelta(days=365), timedelta(days=9_000)),
}


def test_the_usage_of_200_inventories_equals_the_oracle(
    spark: SparkSession, two_hundred: list[Row]
) -> None:
    rows = two_hundred
    found = _usage(spark, rows)

    expected = {("total", ""): oracle.content(rows)}
    objects = [row for row in rows if not row.is_delete_marker]
    expected |= _grouped("storage_class", objects, lambda row: row.storage_class or "unknown")
    expected |= _grouped("size_class", objects, _size_class)
    expected |= _grouped("age_class", rows, _age_class)
    assert {row[:2]: row[2:7] for row in found if row.dimension != "prefix"} == expected

    prefixes = oracle.prefixes(rows, usage.DEPTH)
    heaviest = sorted(
        prefixes, key=lambda prefix: (-prefixes[prefix].bytes, -sum(prefixes[prefix][:3]), prefix)
    )[: usage.PREFIXES]
    assert [row[1:7] for row in found if row.dimension == "prefix"] == [
        (prefix, *prefixes[prefix]) for prefix in heaviest
    ]


def test_sizes_and_ages_at_the_edges_of_their_classes(spark: SparkSession) -> None:
    rows = [_object(size=size, last_modified=None) for sizes in SIZES.values() for size in sizes]
    rows += [
        _object(size=None, last_modified=TAKEN - age) for ages in AGES.values() for age in ages
    ]
    found = [row for row in _usage(spark, rows) if row.dimension in ("size_class", "age_class")]
    names = [*dict.fromkeys(SIZES, 2).items(), ("unknown", 12), *dict.fromkeys(AGES, 2).items()]
    assert [(row.name, row.objects) for row in found] == [*names, ("unknown", 20)]


def test_what_the_source_does_not_list_is_null(spark: SparkSession) -> None:
    rows = [_object(size=None, storage_class=None, last_modified=None)] * 3
    listing = _listing(spark, rows)

    plain = replace(listing, versions=False, lacking=frozenset({"size"}))
    assert _rows(plain) == [Usage("total", "", 3), Usage("prefix", "a/", 3)]
    unsized = replace(listing, lacking=frozenset({"size"}))
    assert _rows(unsized)[0] == Usage("total", "", 3, 0, 0)
    unversioned = replace(listing, versions=False)
    assert _rows(unversioned)[0] == Usage("total", "", 3, bytes=0)


def test_an_empty_bucket_has_a_total_of_nothing(spark: SparkSession) -> None:
    assert _usage(spark, []) == [Usage("total", "", 0, 0, 0, 0, 0)]


def test_a_prefix_has_eight_slashes_at_most(spark: SparkSession) -> None:
    rows = _usage(spark, [_object(key="1/2/3/4/5/6/7/8/9/k")] * 2)
    assert [row.name for row in rows if row.dimension == "prefix"] == ["1/2/3/4/5/6/7/8/"]


def test_the_heaviest_prefixes_without_sizes_have_the_most_versions(spark: SparkSession) -> None:
    keys = [f"{name:02}/{nth}" for name in range(25) for nth in range(name + 1)]
    listing = _listing(spark, [_object(key=key, size=None) for key in keys])
    found = [
        row
        for row in _rows(replace(listing, lacking=frozenset({"size"})))
        if row.dimension == "prefix"
    ]
    assert [(row.name, row.objects) for row in found] == [
        (f"{name:02}/", name + 1) for name in range(24, 4, -1)
    ]


def _grouped(
    dimension: str, rows: Sequence[Row], name: Callable[[Row], str]
) -> dict[tuple[str, str], oracle.Content]:
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[name(row)].append(row)
    return {(dimension, name): oracle.content(group) for name, group in groups.items()}


def _size_class(row: Row) -> str:
    size = row.size
    if size is None:
        return "unknown"
    return next(name for name, (low, high) in SIZES.items() if low <= size <= high)


def _age_class(row: Row) -> str:
    if row.last_modified is None:
        return "unknown"
    age = TAKEN - row.last_modified
    return next(name for name, (low, high) in AGES.items() if low <= age <= high)


def _object(**fields: object) -> Row:
    return Row("uploads", "a/k")._replace(**fields)  # type: ignore[arg-type]


def _listing(spark: SparkSession, rows: Sequence[Row]) -> Listing:
    objects = spark.createDataFrame(rows, LISTING)
    return Listing(objects, versions=True, taken=TAKEN, name="a list")


def _usage(spark: SparkSession, rows: Sequence[Row]) -> list[Usage]:
    return _rows(_listing(spark, rows))


def _rows(listing: Listing) -> list[Usage]:
    thresholds = Thresholds(1 << 60, 1 << 60 if listing.versions else None)
    return usage.rows(sum_up(listing.objects, listing.taken, thresholds), listing)
