"""Whole scans with a real queue: the alerts that arrive, however earlier scans ended."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from bucketcast.errors import BucketcastError
from glue_jobs import files, lease
from glue_jobs.listing.schema import LISTING, Listing
from glue_jobs.scanner import counting
from tests.glue.scans import BUCKET, Scans, crash_at
from tests.unit.moto_aws import TABLE


def test_each_alert_is_sent_once_after_crashed_scans(scans: Scans) -> None:
    scans.add_rule()
    scans.keys = {"many": 3, "a/x/1": 1, "a/y/1": 1, "a/z/1": 1}
    crash_at(scans, "glue_jobs.scanner.counting.find")
    just_before_commit = "glue_jobs.outbox.chunks.spool"
    crash_at(scans, just_before_commit)
    before_sending = "glue_jobs.outbox.sender.send"
    crash_at(scans, before_sending)
    assert scans.events() == []

    scans.keys["more"] = 5
    after_sending = "glue_jobs.scanner.state.StateStore.sweep"
    crash_at(scans, after_sending)
    assert scans.events() == [
        ("BigPrefix", "a/", 3, ""),
        ("ManyVersions", "many", 3, ""),
        ("ManyVersions", "more", 5, ""),
    ]

    again = scans.scan()
    assert scans.events() == []
    assert (again["events"], again["prefix"]) == (0, "")
    assert again["numbers"] == {"ManyVersions": {"same": 2}, "BigPrefix": {"same": 1}}
    assert b"Scan of uploads" in files.read(again["report"])
    left = {name.split("/")[1] for name in files.list_files(f"{scans.folder}/runs")}
    assert left == {"report", "progress.json", "result.json"}


def test_a_target_that_is_named_later_gets_what_is_open(scans: Scans) -> None:
    """Also from a report of unknown reach, which clears nothing."""
    scans.add_rule()
    scans.keys = {"a/many": 3, "b/many": 3}
    dry = scans.scan(dry_run="on")
    assert (dry["numbers"], dry["events"]) == ({"ManyVersions": {"new": 2}}, 0)
    assert not list(files.list_files(f"{scans.folder}/alerts"))
    result = scans.scan()
    total = {"dimension": "total", "name": "", "objects": 2, "noncurrent": 4, "bytes": 6}
    assert result["usage"][0].items() >= total.items()
    assert scans.events() == [("ManyVersions", "a/many", 3, ""), ("ManyVersions", "b/many", 3, "")]

    scans.add_rule(target="second")
    scans.taken -= timedelta(hours=1)
    older = scans.scan()
    assert (older["numbers"], older["events"]) == ({}, 0)
    assert "older than the source of an earlier scan" in older["notes"][0]

    scans.taken += timedelta(hours=2)
    scans.keys, scans.prefix = {"a/many": 4}, None
    result = scans.scan()
    assert (result["numbers"], result["events"]) == ({"ManyVersions": {"same": 1}}, 1)
    assert scans.events() == [("ManyVersions", "a/many", 4, "second:webhook")]


def test_what_has_lost_its_rule_is_not_sent_late(
    scans: Scans, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is sent once the rule is back, also if that is while the same scan counts."""
    scans.add_rule()
    scans.keys = {"many": 3}
    scans.scan()
    assert len(scans.events()) == 1
    scans.add_rule(target="second")
    crash_at(scans, "glue_jobs.outbox.sender._send_chunks")
    scans.remove_rules("second")
    find = counting.find

    def add_rule(*arguments: Any) -> DataFrame:
        scans.add_rule(target="second")
        return find(*arguments)

    monkeypatch.setattr(counting, "find", add_rule)
    assert "not sent, as no rule names their target now: 1." in scans.scan()["notes"][0]
    assert scans.events() == [("ManyVersions", "many", 3, "second:webhook")]


def test_a_report_clears_once_an_earlier_scan_has_seen_its_filter(scans: Scans) -> None:
    """The filter is "" now, and was "a/" when the first report was made."""
    scans.keys = {"a/many": 3, "b/many": 3}
    scans.scan()
    scans.keys, scans.report = {"a/many": 3}, "daily"
    scans.taken += timedelta(hours=1)
    first = scans.scan()
    assert (first["numbers"], len(first["notes"])) == ({"ManyVersions": {"same": 1}}, 1)
    assert "The filter of daily may have changed" in first["notes"][0]
    scans.taken = datetime.now(UTC)
    assert scans.scan()["numbers"] == {"ManyVersions": {"same": 1, "cleared": 1}}


def test_a_bucket_that_another_run_scans_is_refused(scans: Scans) -> None:
    scans.keys = {"many": 3}
    with lease.hold(BUCKET, TABLE, "run-1", "scans uploads"):
        assert scans.scan(dry_run="on")["numbers"] == {"ManyVersions": {"new": 1}}
        with pytest.raises(BucketcastError, match="run-1 scans uploads"):
            scans.scan()
    assert not list(files.list_files(f"{scans.folder}/alerts"))
    assert scans.events() == []


@pytest.mark.both_sparks
def test_a_lost_worker_takes_no_listing_with_it(
    spark: SparkSession, scans: Scans, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second pass reads what the first one listed, which later changes would contradict."""
    listed = spark.sparkContext.accumulator(0)
    find = counting.find

    def count(rows: Iterable[Any]) -> Iterator[Any]:
        for row in rows:
            listed.add(1)
            yield row

    def read(*arguments: Any, **options: Any) -> Listing:
        content = scans.listing(*arguments, **options)
        rows = content.objects.rdd.mapPartitions(count)
        return replace(content, objects=spark.createDataFrame(rows, LISTING))

    def lose(*arguments: Any) -> DataFrame:
        findings = find(*arguments)  # after the first pass, before the second
        for rdd in spark.sparkContext._jsc.getPersistentRDDs().values():
            rdd.unpersist(True)  # noqa: FBT003 - Java's
        return findings

    monkeypatch.setattr("glue_jobs.listing.read", read)
    monkeypatch.setattr(counting, "find", lose)
    scans.add_rule()
    scans.keys = {"a": 5, "b": 1}
    assert scans.scan()["numbers"] == {"ManyVersions": {"new": 1}}
    assert scans.events() == [("ManyVersions", "a", 5, "")]
    assert listed.value == 6
