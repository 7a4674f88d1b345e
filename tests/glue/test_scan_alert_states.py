"""Findings are alerted or not, by comparison with earlier alerts."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sql

from glue_jobs.scanner.alert_states import ALERT_STATES, AlertPolicy, compare

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
COLUMNS = "kind string, key string, count long, versions long, bytes long"


def today(spark: SparkSession, **counts: int) -> DataFrame:
    rows = [("ManyVersions", key, count, count, count) for key, count in counts.items()]
    return spark.createDataFrame(rows, COLUMNS)


def before(*rows: tuple[str, int, timedelta, bool]) -> list[tuple[Any, ...]]:
    """Return records of earlier alerts: key, alerted count, age, and True if it is open."""
    return [
        ("ManyVersions", key, None, None, None, None, None, count, NOW - age, is_open)
        for key, count, age, is_open in rows
    ]


def states(rows: Iterable[Row]) -> dict[str, Any]:
    return {row.key: row.state for row in rows}


def next_states(
    spark: SparkSession,
    now: DataFrame,
    past: Sequence[tuple[Any, ...]],
    cooldown: float = 0,
    at: datetime = NOW,
    prefix: str = "",
) -> list[Row]:
    covered = sql.col("key").startswith(prefix)
    matched = sql.lit(True)  # noqa: FBT003 - a column's value
    policy = AlertPolicy(10, cooldown)
    stored = spark.createDataFrame(past, ALERT_STATES)
    return compare(
        now, stored, at=at, taken=at, policy=policy, covered=covered, matched=matched
    ).collect()


def test_each_finding_is_compared_with_its_last_alert(spark: SparkSession) -> None:
    most = 2**63 - 1  # times a hundred, it would not fit
    now = today(
        spark, first=5, as_before=100, less=90, by_9_9=1_099, by_10=1_100, again=7, huge=most
    )
    past = before(
        ("as_before", 100, HOUR, True),
        ("less", 100, HOUR, True),
        ("by_9_9", 1_000, HOUR, True),
        ("by_10", 1_000, HOUR, True),
        ("again", 1_000, HOUR, False),
        ("gone", 1_000, HOUR, True),
        ("huge", most // 2, HOUR, True),
    )

    result = next_states(spark, now, past)

    assert states(result) == {
        "first": "new",
        "as_before": "same",
        "less": "same",
        "by_9_9": "same",
        "by_10": "worse",
        "again": "new",
        "gone": "cleared",
        "huge": "worse",
    }
    rows = {row.key: row for row in result}
    assert {key: rows[key].alerted for key in ("first", "less", "by_10")} == {
        "first": 5,
        "less": 100,
        "by_10": 1_100,
    }
    assert rows["by_10"].alerted_at - rows["less"].alerted_at == HOUR
    assert {key for key, row in rows.items() if not row.open} == {"gone"}


def test_states_and_first_times_follow_from_scan_to_scan(spark: SparkSession) -> None:
    past: Sequence[tuple[Any, ...]] = before(
        ("a/slow", 1_000, 9 * HOUR, True),
        ("a/flaps", 100, HOUR, True),
        ("a/gone", 100, HOUR, True),
    )
    scans: list[tuple[dict[str, int], str]] = [
        ({"a/slow": 1_060, "a/goes": 5, "b/unseen": 5}, ""),
        ({"a/slow": 1_120, "a/flaps": 100}, "a/"),
        ({"a/slow": 1_300, "a/goes": 5, "b/unseen": 5}, ""),
        ({"a/slow": 1_300, "a/flaps": 101}, ""),
        ({"a/slow": 1_300, "a/flaps": 101}, ""),
    ]
    found = []
    for hour, (counts, prefix) in enumerate(scans):
        rows = next_states(
            spark, today(spark, **counts), past, 4 * 3_600, NOW + hour * HOUR, prefix
        )
        found.append({row.key: (row.state, hours(row.since)) for row in rows})
        past = rows

    slow = [scan["a/slow"] for scan in found]
    assert [state for state, _ in slow] == ["same", "worse", "same", "same", "same"], (
        "growth counts from the last alert"
    )
    assert {since for _, since in slow} == {0}
    assert [scan.get("a/flaps") for scan in found] == [
        ("cleared", None),
        ("same", 1),
        (None, None),
        ("new", 3),
        ("same", 3),
    ], "no alert within the cooldown"
    assert [scan["a/goes"] for scan in found[:3]] == [("new", 0), ("cleared", 0), ("same", 2)]
    assert [scan["b/unseen"] for scan in found[:3]] == [("new", 0), (None, 0), ("same", 0)]
    assert found[0]["a/gone"] == ("cleared", None)
    assert "a/gone" not in found[-1], "its record is no longer needed"


def hours(since: datetime | None) -> int | None:
    """Return the hours between `NOW` and this time, which Spark gives without its zone."""
    return round((since.timestamp() - NOW.timestamp()) / 3_600) if since else None
