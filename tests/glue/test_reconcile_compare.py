"""Spark classifies two tables of objects and rows as Python does each pair."""

from itertools import product

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from bucketcast.mirror.rows import StoredRow
from bucketcast.mirror.synthetic import Object
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

ETAGS: tuple[str | None, ...] = (None, "", "one", "two")
VERSIONS: tuple[str | None, ...] = (None, "null", "3HL4")


def suspects(spark: SparkSession, objects: list[Object], rows: list[StoredRow]) -> dict[str, str]:
    """Return the suspects as Spark finds them; the path of a row is its key here."""
    tables = (
        spark.createDataFrame(objects, OBJECTS),
        spark.createDataFrame(
            [(r.path, r.sequencer, r.time, r.etag, r.size, r.version_id) for r in rows], ROWS
        ),
    )
    pairs = [(key, drift) for key, drift in compare.suspects(*tables).collect()]
    assert len(pairs) == len(dict(pairs)), "a key occurs twice"
    return dict(pairs)


@pytest.mark.both_sparks
def test_spark_and_python_classify_every_pair_alike(spark: SparkSession) -> None:
    objects = [
        Object("uploads", "", version, size, etag)
        for version, size, etag in product(VERSIONS, (None, 0, 1), ETAGS)
    ]
    rows = [
        StoredRow("", "", time, etag or "", size, version)
        for time, etag, size, version in product(("", TIME), ETAGS, (-1, 0, 1), VERSIONS)
    ]
    pairs = dict(enumerate(product([None, *objects], [None, *rows])))
    expected = {str(key): compare.find_drift(*pair) for key, pair in pairs.items()}
    actual = suspects(
        spark,
        [found._replace(key=str(key)) for key, (found, _) in pairs.items() if found],
        [
            StoredRow(str(key), row.sequencer, row.time, row.etag, row.size, row.version_id)
            for key, (_, row) in pairs.items()
            if row
        ],
    )
    assert actual == {key: str(drift) for key, drift in expected.items() if drift}


def test_a_row_that_is_read_twice_is_reported_once(spark: SparkSession) -> None:
    """And keys that differ in case or by a blank are different ones."""
    keys = ("a", "A", "a ", "b/c", "ä+b", "/", "x\\y")
    rows = [StoredRow(key, "", TIME, "one", 5) for key in keys]
    stale = StoredRow("a", "", TIME, "two", 5)
    objects = [Object("uploads", key, None, 5, "one") for key in keys]
    assert suspects(spark, objects, [stale, *rows, stale]) == {"a": "stale"}


@pytest.mark.parametrize(
    ("row", "drift"),
    [
        (StoredRow("a", "", TIME, "one", 5), None),
        (StoredRow("a", "", TIME, "two", 5), Drift.STALE),
        (StoredRow("a", "", TIME, "one", 6), Drift.STALE),
        (StoredRow("a", "", TIME, "", 5), None),
        (StoredRow("a", "", TIME, "one", -1), None),
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
