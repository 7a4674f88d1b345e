"""Whole scans against a real queue: what arrives there, however the scans before have ended."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from bucketcast import sources
from bucketcast.errors import BucketcastError
from bucketcast.event.names import from_words
from bucketcast.rules import Rule
from bucketcast.settings.pipeline import Scan, parse
from bucketcast.state.rules import Rules
from glue_jobs import files
from glue_jobs.listing.schema import LISTING, Listing
from glue_jobs.run import Run
from glue_jobs.scanner import lease
from glue_jobs.scanner.scan import scan
from tests.glue.emulator import Emulator
from tests.glue.inventories import TAKEN
from tests.unit.moto_aws import TABLE
from tests.unit.samples import received

BUCKET: Final = "uploads"


class Stage:
    """A bucket that a test fills, the queue that its alerts go to, and the folders of its scans."""

    def __init__(
        self, spark: SparkSession, aws: Emulator, rules: Rules, folder: Path, name: str
    ) -> None:
        self.folder = folder.as_uri()
        self._spark = spark
        self._rules = rules
        self._sqs = aws.client("sqs")
        self._queue = self._sqs.create_queue(
            QueueName=name, Attributes={"VisibilityTimeout": "43200"}
        )["QueueUrl"]
        self._runs = 0
        self.keys: dict[str, int] = {}
        self.versions = True
        self.sizes = True

    def listing(self, spark: SparkSession, bucket: str, _source: str, *, prefix: str) -> Listing:
        """Stands for a source: `keys` are the numbers of versions."""
        size = 1 if self.sizes else None
        rows = [
            (bucket, key, f"v{nth}", nth == 0, False, size, TAKEN, None, "STANDARD")
            for key, number in self.keys.items()
            for nth in range(number)
            if key.startswith(prefix)
        ]
        objects = spark.createDataFrame(rows, LISTING)
        return Listing(objects, self.versions, TAKEN, "a list", sizes=self.sizes)

    def add_rule(self, events: str = "scanner", prefix: str = "") -> None:
        arn = "arn:minio:sqs::primary:webhook"
        self._rules.add(Rule(bucket=BUCKET, arn=arn, events=from_words(events), prefix=prefix))

    def scan(self, **options: str) -> dict[str, Any]:
        """One scan, told when there are more than 2 versions or 2 sub-folders; its result."""
        self._runs += 1
        folder = f"{self.folder}/runs/{self._runs}"
        texts = {
            "bucket": BUCKET,
            "run": folder,
            "state": f"{self.folder}/alerts",
            "ingress": self._queue,
            "table": TABLE,
            "alert_excess_versions": "2",
            "alert_excess_folders": "2",
        } | options
        settings = parse(Scan, [part for key, text in texts.items() for part in (f"--{key}", text)])
        with Run(folder) as run:
            scan(self._spark, settings, run)
        result: dict[str, Any] = json.loads(files.read(f"{folder}/result.json"))
        return result

    def events(self) -> list[tuple[str, str, int | None]]:
        """What waits in the queue, taken out of it."""
        found = (sources.events(each["Body"])[0] for each in received(self._sqs, self._queue))
        return sorted((event.name.rpartition(":")[2], event.key, event.size) for event in found)


@pytest.fixture
def stage(
    spark: SparkSession,
    aws: Emulator,
    rules: Rules,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> Stage:
    made = Stage(spark, aws, rules, tmp_path, request.node.name.replace("_", "-")[:60])
    monkeypatch.setattr("glue_jobs.listing.read", made.listing)
    return made


class CrashError(Exception):
    """The job ends here."""


def ends(stage: Stage, where: str) -> None:
    """A scan that ends as soon as it comes to this function."""

    def crash(*_: object, **__: object) -> None:
        raise CrashError

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(where, crash)
        with pytest.raises(CrashError):
            stage.scan()


@pytest.mark.one_spark
def test_an_alert_comes_once_whatever_becomes_of_the_scan(stage: Stage) -> None:
    stage.add_rule()
    stage.keys = {"many": 3, "a/x/1": 1, "a/y/1": 1, "a/z/1": 1}
    for before_it_counts in ("glue_jobs.scanner.report.write", "glue_jobs.outbox.spool"):
        ends(stage, before_it_counts)
    before_it_has_sent = "glue_jobs.outbox.send"
    ends(stage, before_it_has_sent)
    assert stage.events() == []

    stage.keys["more"] = 5
    after_it_has_sent = "glue_jobs.scanner.state.StateStore.sweep"
    ends(stage, after_it_has_sent)
    assert stage.events() == [
        ("BigPrefix", "a/", 3),
        ("ManyVersions", "many", 3),
        ("ManyVersions", "more", 5),
    ]

    again = stage.scan()
    assert stage.events() == []
    assert again["events"] == 0
    assert again["numbers"] == {"ManyVersions": {"same": 2}, "BigPrefix": {"same": 1}}
    assert b"Scan of uploads" in files.read(again["report"])


@pytest.mark.one_spark
def test_a_scan_alerts_on_what_it_sees_and_leaves_the_rest(stage: Stage) -> None:
    stage.add_rule()
    stage.keys = {"a/many": 3, "b/many": 3, "c/1": 1}
    stage.scan()
    assert stage.events() == [
        ("BigPrefix", "", 3),
        ("ManyVersions", "a/many", 3),
        ("ManyVersions", "b/many", 3),
    ]

    stage.versions = False
    stage.keys = {"a/many": 1, "b/many": 1}
    less = stage.scan()
    assert less["versions"] is False
    assert "no versions" in less["notes"][0]
    assert [(each["key"], each["state"]) for each in less["findings"]] == [("", "cleared")]

    stage.versions = True
    stage.keys = {"a/many": 4, "b/many": 5, "c/1": 1}
    part = stage.scan(prefix="a/")
    assert [(each["key"], each["state"]) for each in part["findings"]] == [("a/many", "worse")]
    assert stage.events() == [("ManyVersions", "a/many", 4)]


@pytest.mark.one_spark
def test_a_bucket_that_another_run_scans_is_left_to_it(stage: Stage) -> None:
    stage.keys = {"many": 3}
    with (
        lease.acquired(BUCKET, TABLE, "run-1"),
        pytest.raises(BucketcastError, match="run-1 scans this"),
    ):
        stage.scan()
    assert files.names(f"{stage.folder}/alerts") == []
    assert stage.events() == []


def test_a_bad_listing_changes_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def bad(*_: object, **__: object) -> Listing:
        raise BucketcastError("manifest.json: it is another bucket's")

    monkeypatch.setattr("glue_jobs.listing.read", bad)
    with pytest.raises(BucketcastError, match="another bucket's"):
        stage.scan()

    assert files.names(f"{stage.folder}/alerts") == []
    assert stage.events() == []
    assert b"another bucket's" in files.read(f"{stage.folder}/runs/1/result.json")


@pytest.mark.one_spark
def test_a_finding_without_a_rule_is_sent_once_there_is_one(stage: Stage) -> None:
    large = {"alert_versions_size": "4"}
    stage.keys = {"in/large": 4, "out/many": 3}
    nobody = stage.scan(**large)
    assert stage.events() == []
    assert nobody["numbers"] == {
        "ManyVersions": {"unmatched": 2},
        "LargeVersions": {"unmatched": 1},
    }
    assert any("no rule of uploads" in each for each in nobody["notes"])

    stage.add_rule("s3:Scanner:ManyVersions", prefix="out/")
    assert stage.scan(**large)["numbers"]["ManyVersions"] == {"new": 1, "unmatched": 1}
    assert stage.events() == [("ManyVersions", "out/many", 3)]

    stage.add_rule()
    everything = stage.scan(**large)
    assert stage.events() == [("LargeVersions", "in/large", 4), ("ManyVersions", "in/large", 4)]
    assert everything["notes"] == []
    assert stage.scan(**large)["events"] == 0


@pytest.mark.one_spark
def test_without_sizes_their_last_alerts_stay(stage: Stage) -> None:
    large = {"alert_versions_size": "4"}
    stage.add_rule()
    stage.keys = {"large": 4}
    stage.scan(**large)
    stage.events()

    stage.sizes = False
    unsized = stage.scan(**large)
    assert unsized["numbers"] == {"ManyVersions": {"same": 1}}
    assert "no sizes" in unsized["notes"][0]
    assert [each["bytes"] for each in unsized["findings"]] == [None]

    stage.sizes = True
    assert stage.scan(**large)["numbers"] == {
        "ManyVersions": {"same": 1},
        "LargeVersions": {"same": 1},
    }
    assert stage.events() == []
