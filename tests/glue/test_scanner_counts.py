"""The scanner's counts equal the plain oracle's, for random inventories."""

from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession

from glue_jobs.listing.schema import LISTING
from glue_jobs.scanner import counting, sums
from glue_jobs.scanner.counting import find
from glue_jobs.scanner.sums import Thresholds, sum_up
from tests.glue import oracle
from tests.glue.inventories import TAKEN, Row

Findings = set[tuple[str, str, int, int | None, int | None]]


@pytest.mark.parametrize(
    ("many", "large"), [(0, 0), pytest.param(2, 1 << 41, marks=pytest.mark.both_sparks)]
)
def test_counts_of_200_inventories_equal_the_oracle(
    spark: SparkSession, two_hundred: list[Row], many: int, large: int
) -> None:
    assert _count(spark, two_hundred, many, large) == _expected(two_hundred, many, large)


def test_an_empty_bucket_has_no_findings(spark: SparkSession) -> None:
    assert _count(spark, [], 0, 0) == set()


def test_a_finding_of_a_source_without_sizes_has_no_bytes(spark: SparkSession) -> None:
    rows = [Row("uploads", "a", f"v{nth}", is_latest=nth == 0, size=None) for nth in range(2)]
    assert _count(spark, rows, 1, None) == {("ManyVersions", "a", 2, 2, None)}


def test_a_big_prefix_is_found_however_deep_it_lies(spark: SparkSession) -> None:
    """Paths that branch at each of 300 levels, and 200 folders above and below 500, the most."""
    keys = ["s/" * level + name + "/x" for level in range(300) for name in "st"]
    keys += [f"{nth:03}/{'e/' * 500}x" for nth in range(200)]
    keys += [f"{'d/' * 500}{nth:03}/x" for nth in range(200)]
    rows = [Row("uploads", key) for key in keys]
    assert _count(spark, rows, 1, 1 << 60) == _expected(rows, 1, 1 << 60)


def test_names_with_the_same_hash_are_counted_separately(
    spark: SparkSession, two_hundred: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (counting, sums):
        monkeypatch.setattr(module, "bucket_count", lambda *_: 1)
    monkeypatch.setattr(counting, "MOST_SCAN_HASHES", 0)
    assert _count(spark, two_hundred, 2, 1 << 43) == _expected(two_hundred, 2, 1 << 43)


def _count(spark: SparkSession, rows: Sequence[Row], many: int, large: int | None) -> Findings:
    listing = spark.createDataFrame(rows, LISTING)
    thresholds = Thresholds(many, many, large)
    found = find(listing, sum_up(listing, TAKEN, thresholds), thresholds).collect()
    distinct: Findings = {tuple(row) for row in found}
    assert len(distinct) == len(found)
    return distinct


def _expected(rows: Sequence[Row], many: int, large: int) -> Findings:
    counted = oracle.versions(rows)
    found: Findings = {
        ("ManyVersions", key, sums.number, *sums)
        for key, sums in counted.items()
        if sums.number > many
    }
    found |= {
        ("LargeVersions", key, sums.bytes, *sums)
        for key, sums in counted.items()
        if sums.bytes >= large
    }
    found |= {
        ("BigPrefix", key, len(names), None, None)
        for key, names in oracle.folders(rows).items()
        if len(names) > many
    }
    return found
