"""Objects beside rows: what Spark says of two tables is what is said of each pair."""

from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from bucketcast.mirror.rows import StoredRow
from glue_jobs.events import Object
from glue_jobs.reconcile import compare
from glue_jobs.reconcile.compare import What
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
    """What Spark says; the path of a row here is its key."""
    tables = (
        spark.createDataFrame(objects, OBJECTS),
        spark.createDataFrame(
            [(r.path, r.sequencer, r.time, r.etag, r.size, r.version_id) for r in rows], ROWS
        ),
    )
    found = [(key, what) for key, what in compare.suspects(*tables).collect()]
    assert len(found) == len(dict(found)), "a key is there twice"
    return dict(found)


def test_every_pair_is_classified_alike(spark: SparkSession) -> None:
    objects = [
        Object("uploads", "", version, size, etag)
        for version, size, etag in product(VERSIONS, (None, 0, 1), ETAGS)
    ]
    rows = [
        StoredRow("", "", time, etag or "", size, version)
        for time, etag, size, version in product(("", TIME), ETAGS, (-1, 0, 1), VERSIONS)
    ]
    pairs = dict(enumerate(product([None, *objects], [None, *rows])))
    expected = {str(key): compare.of(*pair) for key, pair in pairs.items()}
    found = suspects(
        spark,
        [each._replace(key=str(key)) for key, (each, _) in pairs.items() if each],
        [
            StoredRow(str(key), row.sequencer, row.time, row.etag, row.size, row.version_id)
            for key, (_, row) in pairs.items()
            if row
        ],
    )
    assert found == {key: str(what) for key, what in expected.items() if what}


@settings(
    max_examples=3,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    objects=st.lists(OBJECT, max_size=20, unique_by=lambda each: each.key),
    rows=st.lists(ROW, max_size=40),
)
def test_a_row_that_was_read_twice_is_one(
    spark: SparkSession, objects: list[Object], rows: list[StoredRow]
) -> None:
    by_key = {each.key: each for each in objects}
    stored: dict[str, list[StoredRow | None]] = {}
    for row in rows:
        stored.setdefault(row.path, []).append(row)
    expected = {
        key: {compare.of(by_key.get(key), row) for row in stored.get(key, [None])} - {None}
        for key in {*by_key, *stored}
    }
    found = suspects(spark, objects, rows)
    assert found.keys() == {key for key, whats in expected.items() if whats}
    assert all(What(what) in expected[key] for key, what in found.items())


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (StoredRow("a", "", TIME, "one", 5), None),
        (StoredRow("a", "", TIME, "two", 5), What.STALE),
        (StoredRow("a", "", TIME, "one", 6), What.STALE),
        (StoredRow("a", "", TIME, "", 5), None),
        (StoredRow("a", "", TIME, "one", -1), None),
        (StoredRow("a", "", TIME, "one", 5, "older"), What.STALE),
        (StoredRow("a"), What.STALE),
        (None, What.MISSING),
    ],
)
def test_only_what_both_know_is_compared(row: StoredRow | None, what: What | None) -> None:
    assert compare.of(Object("uploads", "a", "newer", 5, "one"), row) is what


def test_a_row_without_an_object_is_extra() -> None:
    assert compare.of(None, StoredRow("a", "", TIME, "one", 5)) is What.EXTRA
    assert compare.of(None, None) is None
