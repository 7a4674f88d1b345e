"""What the scanner counts, beside the plain oracle, over random inventories."""

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from glue_jobs.listing.schema import LISTING
from glue_jobs.scanner import candidates, folders, versions
from tests.glue import oracle
from tests.glue.inventories import Row, inventories

Objects = set[tuple[str, str, int, int]]
Prefixes = set[tuple[str, str, int]]


@pytest.mark.parametrize(("many", "large"), [(0, 0), (2, 1 << 43)])
def test_two_hundred_inventories_are_counted_as_the_oracle_counts_them(
    spark: SparkSession, two_hundred: list[Row], many: int, large: int
) -> None:
    assert _counted(spark, two_hundred, many, large) == _expected(two_hundred, many, large)


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=inventories("uploads"), many=st.integers(0, 4), large=st.integers(0, 1 << 44))
def test_an_inventory_alone_is_counted_as_the_oracle_counts_it(
    spark: SparkSession, rows: list[Row], many: int, large: int
) -> None:
    assert _counted(spark, rows, many, large) == _expected(rows, many, large)


def test_names_with_the_same_hash_are_counted_apart(
    spark: SparkSession, two_hundred: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    alike = candidates.bucket
    monkeypatch.setattr(candidates, "bucket", lambda name, _buckets: alike(name, 1))
    assert _counted(spark, two_hundred, 2, 1 << 43) == _expected(two_hundred, 2, 1 << 43)


@pytest.fixture(scope="module")
def two_hundred() -> list[Row]:
    """200 buckets as one, each in a folder of its own: a Spark job each would take minutes."""
    rows: list[Row] = []
    seen = 0

    @settings(
        max_examples=200, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(inventories("uploads"))
    def collect(drawn: list[Row]) -> None:
        nonlocal seen
        rows.extend(row._replace(key=f"{seen}/{row.key}") for row in drawn)
        seen += 1

    collect()
    assert seen >= 200
    assert any(row.is_delete_marker for row in rows)
    return rows


def _counted(
    spark: SparkSession, rows: Sequence[Row], many: int, large: int
) -> tuple[Objects, Prefixes]:
    listing = spark.createDataFrame(rows, LISTING)
    objects = versions.findings(listing, many=many, large=large).collect()
    prefixes = folders.findings(listing, many=many).collect()
    found = {tuple(row) for row in objects}, {tuple(row) for row in prefixes}
    assert (len(found[0]), len(found[1])) == (len(objects), len(prefixes))  # nothing stands twice
    return found


def _expected(rows: Sequence[Row], many: int, large: int) -> tuple[Objects, Prefixes]:
    counted = oracle.versions(rows)
    objects = {("ManyVersions", key, *has) for key, has in counted.items() if has.number > many}
    objects |= {("LargeVersions", key, *has) for key, has in counted.items() if has.bytes >= large}
    below = oracle.folders(rows)
    prefixes = {("BigPrefix", key, len(names)) for key, names in below.items() if len(names) > many}
    return objects, prefixes
