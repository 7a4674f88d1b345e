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


def test_states_follow_from_scan_to_scan(spark: SparkSession) -> None:
    past: Sequence[tuple[Any, ...]] = before(
        ("slow", 1_000, 9 * HOUR, True),
        ("flaps", 100, HOUR, True),
        ("gone", 100, HOUR, True),
    )
    scans: list[dict[str, int]] = [
        {"slow": 1_060},
        {"slow": 1_120, "flaps": 100},
        {"slow": 1_300},
        {"slow": 1_300, "flaps": 101},
        {"slow": 1_300, "flaps": 101},
    ]
    history = []
    for hour, counts in enumerate(scans):
        rows = next_states(
            spark, today(spark, **counts), past, cooldown=4 * 3_600, at=NOW + hour * HOUR
        )
        history.append(states(rows))
        past = rows

    slow = [scan["slow"] for scan in history]
    assert slow == ["same", "worse", "same", "same", "same"], "growth counts from the last alert"
    flaps = [scan.get("flaps") for scan in history]
    assert flaps == ["cleared", "same", None, "new", "same"], "no alert within the cooldown"
    assert history[0]["gone"] == "cleared"
    assert "gone" not in history[-1], "its record is no longer needed"


def test_a_finding_keeps_its_first_time_while_it_stays_or_is_not_covered(
    spark: SparkSession,
) -> None:
    past: Sequence[tuple[Any, ...]] = []
    hours: list[tuple[dict[str, int], str]] = [
        ({"a/stays": 5, "a/goes": 5, "b/unseen": 5}, ""),
        ({"a/stays": 9}, "a/"),
        ({"a/stays": 9, "a/goes": 5, "b/unseen": 5}, ""),
    ]
    found = []
    for hour, (counts, prefix) in enumerate(hours):
        rows = next_states(spark, today(spark, **counts), past, at=NOW + hour * HOUR, prefix=prefix)
        ages = {row.key: round((row.since.timestamp() - NOW.timestamp()) / 3_600) for row in rows}
        found.append({key: (state, ages[key]) for key, state in states(rows).items()})
        past = rows
    assert found == [
        {"a/stays": ("new", 0), "a/goes": ("new", 0), "b/unseen": ("new", 0)},
        {"a/stays": ("worse", 0), "a/goes": ("cleared", 0), "b/unseen": (None, 0)},
        {"a/stays": ("same", 0), "a/goes": ("new", 2), "b/unseen": ("same", 0)},
    ]
