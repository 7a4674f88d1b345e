"""The scanner's counts equal the plain oracle's, for random inventories."""

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from glue_jobs.listing.schema import LISTING
from glue_jobs.scanner import counting
from glue_jobs.scanner.counting import find
from glue_jobs.scanner.sums import Thresholds, sum_up
from tests.glue import oracle
from tests.glue.inventories import TAKEN, Row, inventories

Findings = set[tuple[str, str, int, int | None, int | None]]


@pytest.mark.parametrize(("many", "large"), [(0, 0), (2, 1 << 43)])
def test_counts_of_200_inventories_equal_the_oracle(
    spark: SparkSession, two_hundred: list[Row], many: int, large: int
) -> None:
    assert _count(spark, two_hundred, many, large) == _expected(two_hundred, many, large)


@settings(max_examples=3, suppress_health_check=list(HealthCheck))
@given(rows=inventories("uploads"), many=st.integers(0, 4), large=st.integers(0, 1 << 44))
def test_counts_of_one_inventory_equal_the_oracle(
    spark: SparkSession, rows: list[Row], many: int, large: int
) -> None:
    assert _count(spark, rows, many, large) == _expected(rows, many, large)


def test_names_with_the_same_hash_are_counted_separately(
    spark: SparkSession, two_hundred: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = counting._bucket
    monkeypatch.setattr(counting, "_bucket", lambda name, _buckets: bucket(name, 1))
    assert _count(spark, two_hundred, 2, 1 << 43) == _expected(two_hundred, 2, 1 << 43)


def _count(spark: SparkSession, rows: Sequence[Row], many: int, large: int) -> Findings:
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
