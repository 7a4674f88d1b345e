"""Spark classifies two tables of objects and rows as Python does each pair."""

from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
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
KEYS = st.sampled_from(["a", "A", "b/c", "b/c ", "ä+b", "/", "x\\y", *map(str, range(20))])
OBJECT = st.builds(
    Object,
    st.just("uploads"),
    KEYS,
    st.sampled_from(VERSIONS),
    st.sampled_from([None, 0, 1]),
    st.sampled_from(ETAGS),
    st.none(),
    st.none(),
)
ROW = st.builds(
    StoredRow,
    KEYS,
    st.just(""),
    st.sampled_from(["", TIME]),
    st.sampled_from(["", "one", "two"]),
    st.sampled_from([-1, 0, 1]),
    st.sampled_from(VERSIONS),
)


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


@settings(
    max_examples=3,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    objects=st.lists(OBJECT, max_size=20, unique_by=lambda found: found.key),
    rows=st.lists(ROW, max_size=40),
)
def test_a_row_that_is_read_twice_is_reported_once(
    spark: SparkSession, objects: list[Object], rows: list[StoredRow]
) -> None:
    by_key = {found.key: found for found in objects}
    stored: dict[str, list[StoredRow | None]] = {}
    for row in rows:
        stored.setdefault(row.path, []).append(row)
    expected = {
        key: {compare.find_drift(by_key.get(key), row) for row in stored.get(key, [None])} - {None}
        for key in {*by_key, *stored}
    }
    actual = suspects(spark, objects, rows)
    assert actual.keys() == {key for key, drifts in expected.items() if drifts}
    assert all(Drift(drift) in expected[key] for key, drift in actual.items())


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
