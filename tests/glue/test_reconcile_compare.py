"""Objects and rows are compared by the fields that both have."""

import pytest
from msgspec.structs import astuple
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from bucketcast.mirror.rows import StoredRow, read
from bucketcast.mirror.synthetic import Object, created
from bucketcast.shapes.minio import log
from glue_jobs.reconcile import compare
from glue_jobs.reconcile.compare import Drift
from glue_jobs.reconcile.mirror import ROWS

OBJECTS = StructType(
    [
        StructField(name, LongType() if name in ("size", "modified") else StringType())
        for name in Object._fields
    ]
)
TIME = "2026-01-02T03:04:05.678Z"


def suspects(spark: SparkSession, objects: list[Object], rows: list[StoredRow]) -> list[str]:
    """Return the suspects as Spark finds them; the path of a row is its key here."""
    tables = (
        spark.createDataFrame(objects, OBJECTS),
        spark.createDataFrame([astuple(row) for row in rows], ROWS),
    )
    return sorted(key for (key,) in compare.suspects(*tables, "in/").collect())


@pytest.mark.both_sparks
def test_the_keys_of_pairs_that_differ_are_found_once(spark: SparkSession) -> None:
    """Keys that differ in case or by a blank are different ones; a row may be read twice."""
    keys = ("in/a", "in/A", "in/a ", "in/b/c", "in/ä+b", "in//", "in/x\\y")
    rows = [StoredRow(key, "", TIME, "one", 5) for key in keys]
    stale = StoredRow("in/a", "", TIME, "two", 5)
    unreadable, extra = StoredRow("in/bad"), StoredRow("in/extra", "", TIME, "one", 5)
    unlisted = StoredRow("out/of", "", TIME, "one", 5)
    objects = [Object("uploads", key, None, 5, "one") for key in (*keys, "in/bad", "in/missing")]
    found = suspects(spark, objects, [stale, *rows, stale, unreadable, extra, unlisted])
    assert found == ["in/a", "in/bad", "in/extra", "in/missing"]


@pytest.mark.parametrize(
    ("row", "drift"),
    [
        (StoredRow("a", "", TIME, "one", 5), None),
        (StoredRow("a", "", TIME, "two", 5), Drift.STALE),
        (StoredRow("a", "", TIME, "one", 6), Drift.STALE),
        (StoredRow("a", "", TIME, "", 5), None),
        (read(log(created(Object("uploads", "a", etag="one"))), "a"), None),
        (StoredRow("a", "", TIME, "one", 5, "older"), Drift.STALE),
        (StoredRow("a"), Drift.STALE),
        (None, Drift.MISSING),
    ],
)
def test_only_fields_that_both_have_are_compared(
    row: StoredRow | None, drift: Drift | None
) -> None:
    assert compare.find_drift(Object("uploads", "a", "newer", 5, "one"), row) is drift


def test_a_row_without_an_object_is_extra() -> None:
    assert compare.find_drift(None, StoredRow("a", "", TIME, "one", 5)) is Drift.EXTRA
    assert compare.find_drift(None, None) is None
