"""Which findings are told, judged by the findings of yesterday."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from glue_jobs.scanner.alert_states import ALERT_STATES, Rules, compared, found

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
FOUND = "kind string, key string, count long, versions long, bytes long"


def today(spark: SparkSession, **counts: int) -> DataFrame:
    rows = [("ManyVersions", key, count, count, count) for key, count in counts.items()]
    return spark.createDataFrame(rows, FOUND)


def before(spark: SparkSession, *rows: tuple[str, int, timedelta, bool]) -> DataFrame:
    """What is remembered: key, the count that was told, how long ago, and whether it is open."""
    remembered = [
        ("ManyVersions", key, None, None, None, None, count, NOW - ago, is_open)
        for key, count, ago, is_open in rows
    ]
    return spark.createDataFrame(remembered, ALERT_STATES)


def states(rows: DataFrame) -> dict[str, Any]:
    return {row.key: row.state for row in rows.collect()}


def judge(
    spark: SparkSession,
    now: DataFrame,
    past: DataFrame,
    cooldown: float = 0,
    at: datetime = NOW,
    seen: str = "",
) -> DataFrame:
    looked = sql.col("key").startswith(seen)
    matched = sql.lit(True)  # noqa: FBT003 - a column's value
    judged = compared(now, past, at=at, rules=Rules(10, cooldown), covered=looked, matched=matched)
    # Cut off from its past, as from one run to the next.
    return spark.createDataFrame(judged.collect(), ALERT_STATES)


def test_each_finding_is_compared_with_its_last_alert(spark: SparkSession) -> None:
    most = 2**63 - 1  # times a hundred, it would not fit
    now = today(
        spark, first=5, as_before=100, less=90, by_9_9=1_099, by_10=1_100, again=7, huge=most
    )
    past = before(
        spark,
        ("as_before", 100, HOUR, True),
        ("less", 100, HOUR, True),
        ("by_9_9", 1_000, HOUR, True),
        ("by_10", 1_000, HOUR, True),
        ("again", 1_000, HOUR, False),
        ("gone", 1_000, HOUR, True),
        ("huge", most // 2, HOUR, True),
    )

    judged = judge(spark, now, past)

    assert states(judged) == {
        "first": "new",
        "as_before": "same",
        "less": "same",
        "by_9_9": "same",
        "by_10": "worse",
        "again": "new",
        "gone": "cleared",
        "huge": "worse",
    }
    rows = {row.key: row for row in judged.collect()}
    assert {key: rows[key].alerted for key in ("first", "less", "by_10")} == {
        "first": 5,
        "less": 100,
        "by_10": 1_100,
    }
    assert rows["by_10"].alerted_at - rows["less"].alerted_at == HOUR
    assert {key for key, row in rows.items() if not row.open} == {"gone"}


def test_within_the_cooldown_no_alert_is_repeated(spark: SparkSession) -> None:
    past = before(spark, ("lately", 100, HOUR, True), ("long_ago", 100, 3 * HOUR, True))

    judged = judge(spark, today(spark, lately=900, long_ago=900), past, cooldown=2 * 3_600)

    assert states(judged) == {"lately": "same", "long_ago": "worse"}


@pytest.mark.one_spark
def test_a_story_of_scans(spark: SparkSession) -> None:
    past = before(
        spark,
        ("slow", 1_000, 9 * HOUR, True),
        ("flaps", 100, HOUR, True),
        ("gone", 100, HOUR, True),
    )
    scans: list[dict[str, int]] = [
        {"slow": 1_060},
        {"slow": 1_120, "flaps": 100},
        {"slow": 1_200},
        {"slow": 1_200, "flaps": 101},
        {"slow": 1_200, "flaps": 101},
    ]
    story = []
    for hour, counts in enumerate(scans):
        past = judge(spark, today(spark, **counts), past, cooldown=4 * 3_600, at=NOW + hour * HOUR)
        story.append(states(past))

    grows = [each["slow"] for each in story]
    assert grows == ["same", "worse", "same", "same", "same"], "it adds up from the last alert"
    flaps = [each.get("flaps") for each in story]
    assert flaps == ["cleared", "same", None, "new", "same"], "quiet for the cooldown, then told"
    assert story[0]["gone"] == "cleared"
    assert "gone" not in story[-1], "there is no reason any more to remember it"


def test_what_the_scan_did_not_look_at_stays_as_it_is(spark: SparkSession) -> None:
    past = before(spark, ("a/old", 100, HOUR, True), ("b/old", 100, HOUR, True))

    part = judge(spark, today(spark), past, seen="a/")

    assert states(part) == {"a/old": "cleared", "b/old": None}
    assert states(judge(spark, today(spark, **{"b/old": 100}), part)) == {"b/old": "same"}


def test_the_count_is_what_the_threshold_is_about(spark: SparkSession) -> None:
    versions = spark.createDataFrame(
        [("ManyVersions", "k", 5, 99), ("LargeVersions", "k", 5, 99)],
        "kind string, key string, versions long, bytes long",
    )
    folders = spark.createDataFrame(
        [("BigPrefix", "p/", 7)], "kind string, key string, folders long"
    )

    assert {tuple(row) for row in found(versions, folders).collect()} == {
        ("ManyVersions", "k", 5, 5, 99),
        ("LargeVersions", "k", 99, 5, 99),
        ("BigPrefix", "p/", 7, None, None),
    }
    assert [tuple(row) for row in found(None, folders).collect()] == [
        ("BigPrefix", "p/", 7, None, None)
    ]
