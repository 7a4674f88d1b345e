"""What all sources of a listing have in common."""

from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from glue_jobs import listing
from glue_jobs.listing import live
from glue_jobs.listing.schema import LISTING, Listing


@pytest.mark.both_sparks
@pytest.mark.parametrize(("tasks", "partitions"), [(50, 150), (1, 4)])
def test_a_shuffle_begins_with_partitions_by_the_tasks_that_read(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tasks: int, partitions: int
) -> None:
    """With one task it begins with what Spark is set to."""
    rows = spark.createDataFrame(spark.sparkContext.parallelize([], tasks), LISTING)
    found = Listing(rows, versions=True, taken=datetime.now(UTC), name="")
    monkeypatch.setattr(live, "read", lambda *_, **__: found)
    set_to = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", 4)
    try:
        content = listing.read(spark, "uploads", "listing")
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", str(set_to))
    plan = content.objects.groupBy("key").count()._jdf.queryExecution().executedPlan()
    assert f", {partitions})" in plan.toString()
