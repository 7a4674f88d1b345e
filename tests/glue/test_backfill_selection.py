"""The objects that a backfill's options select, by Spark's own comparisons."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from bucketcast.errors import BucketcastError
from bucketcast.settings.pipeline import Backfill
from glue_jobs.backfill.selection import select
from glue_jobs.listing.schema import LISTING, Listing, Row
from tests.glue.jobs import settings_of

MIDNIGHT = datetime(2026, 3, 14, tzinfo=UTC)
DAY = {"modified_after": "2026-03-14", "modified_before": "2026-03-15T00:00:00+00:00"}


def settings(**options: str) -> Backfill:
    return settings_of(Backfill, {"bucket": "b", "run": "r", "target": "t", "queue": "q"} | options)


def row(key: str, at: datetime | None, size: int | None, kind: str | None, **more: Any) -> Row:
    return Row("b", key, "v", True, False, size, at, "e", kind)._replace(**more)  # noqa: FBT003


@pytest.fixture(scope="module")
def listing(spark: SparkSession) -> Listing:
    rows = [
        row("a day later", MIDNIGHT + timedelta(days=1), 8, "GLACIER"),
        row("at midnight", MIDNIGHT, 5, "STANDARD"),
        row("before", MIDNIGHT - timedelta(milliseconds=1), 0, "STANDARD"),
        row("by day", MIDNIGHT + timedelta(hours=23), 7, "STANDARD_IA"),
        row("noncurrent", MIDNIGHT, 5, "STANDARD_IA", is_latest=False),
        row("unknown", None, None, None),
    ]
    frame = spark.createDataFrame(rows, LISTING)
    return Listing(frame, versions=True, taken=MIDNIGHT, name="a listing")


@pytest.mark.parametrize(
    ("options", "selected"),
    [
        ({}, ["a day later", "at midnight", "before", "by day", "unknown"]),
        (DAY, ["at midnight", "by day"]),
        ({"modified_after": "2026-03-15T01:00:00+01:00"}, ["a day later"]),
        ({"modified_before": "2026-03-14T00:00:00"}, ["before"]),
        ({"min_size": "5", "max_size": "7"}, ["at midnight", "by day"]),
        ({"max_size": "0"}, ["before"]),
        ({"storage_class": "glacier,STANDARD_IA"}, ["a day later", "by day"]),
        (DAY | {"storage_class": "GLACIER"}, []),
        ({"storage_class": "STANDARD_IA", "versions": "all"}, ["by day", "noncurrent"]),
    ],
)
def test_an_object_is_selected_if_all_options_hold(
    listing: Listing, options: dict[str, str], selected: list[str]
) -> None:
    """One without a time, size or class is in no selection by it."""
    assert sorted(row.key for row in select(listing, settings(**options)).collect()) == selected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"storage_class": "GLACIER"},
            "--storage-class: a report has no column storage_class",
        ),
        ({"versions": "all"}, "--versions: a report has only current versions; take an"),
    ],
)
def test_a_source_without_what_an_option_needs_is_refused(
    listing: Listing, options: dict[str, str], expected: str
) -> None:
    report = Listing(
        listing.objects,
        versions=False,
        taken=MIDNIGHT,
        name="a report",
        lacking=frozenset({"storage_class"}),
    )
    with pytest.raises(BucketcastError) as refused:
        select(report, settings(**options))
    assert str(refused.value).startswith(expected)
    assert select(report, settings(min_size="8")).count() == 1
