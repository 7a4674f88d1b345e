"""The backfill as a job: a bucket's objects reach the target's queue once, with a result."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace
from pyspark.sql import SparkSession

from bucketcast.delivery.envelope import unpack
from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.mirror.synthetic import Object, created
from bucketcast.rules import Rule
from bucketcast.settings.pipeline import Backfill
from bucketcast.state.rules import Rules
from glue_jobs import files, not_sent
from glue_jobs.backfill import backfill as backfill_module
from glue_jobs.backfill.backfill import backfill
from glue_jobs.listing.schema import LISTING, Listing
from glue_jobs.not_sent import NotSent
from glue_jobs.outbox import sender
from tests.glue.emulator import Emulator
from tests.glue.jobs import run_job, settings_of
from tests.unit.moto_aws import TABLE
from tests.unit.samples import told

BUCKET, MIRROR = "uploads", "arn:minio:sqs::mirror:postgresql"
MODIFIED = datetime(2026, 3, 14, 9, 26, 53, 589_999, UTC)
MS = 1_773_480_413_589


class Backfills:
    """A deployment and a bucket, as the job sees them."""

    def __init__(
        self, aws: Emulator, rules: Rules, folder: Path, patch: pytest.MonkeyPatch
    ) -> None:
        self.folder = folder
        self.aws = aws
        self.sqs = aws.client("sqs")
        self.rules = rules
        self.taken = datetime.now(UTC)
        self.listings = 0
        self._rows: list[tuple[Any, ...]] = []
        self.name = f"B{time.time_ns()}"
        self.url = self.sqs.create_queue(QueueName=f"{self.name}-postgres-mirror")["QueueUrl"]
        patch.setattr("glue_jobs.listing.read", self._read)

    def add_object(self, key: str, **more: Any) -> None:
        row = {
            "bucket": BUCKET,
            "key": key,
            "version_id": "null",
            "is_latest": True,
            "is_delete_marker": False,
            "size": 1,
            "last_modified": MODIFIED,
            "etag": "d41d8",
            "storage_class": "STANDARD",
        } | more
        self._rows.append(tuple(row[name] for name in LISTING.fieldNames()))

    def add_rule(self, *events: str, arn: str = MIRROR, **more: Any) -> Rule:
        rule = Rule(bucket=BUCKET, arn=arn, events=events or ("s3:ObjectCreated:*",), **more)
        self.rules.add(rule)
        return rule

    def settings(self, **more: str) -> Backfill:
        values = {
            "bucket": BUCKET,
            "target": MIRROR,
            "run": (self.folder / "run").as_uri(),
            "table": TABLE,
            "queue": self.url,
            "rate": "0",
        } | more
        return settings_of(Backfill, values)

    def backfill(self, spark: SparkSession, **more: str) -> Mapping[str, Any]:
        """Run the job, and read the result that it leaves."""
        result: Mapping[str, Any] = run_job(backfill, spark, self.settings(**more))
        return result

    def drain(self) -> list[tuple[str, Event]]:
        """Return rule and event of all that waits for the target, by key, without when listed."""
        deliveries = [each for body in self.aws.drain(self.url) for each in unpack(body)]
        waiting = [(each.rule, replace(told(each.event), listed="")) for each in deliveries]
        return sorted(waiting, key=lambda pair: pair[1].key)

    def _read(self, spark: SparkSession, bucket: str, source: str, *, prefix: str) -> Listing:
        assert bucket == BUCKET
        self.listings += 1
        rows = [row for row in self._rows if row[1].startswith(prefix)]
        frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, 2), LISTING)
        return Listing(frame, versions=True, taken=self.taken, name=source)


@pytest.fixture
def deployment(
    aws: Emulator, rules: Rules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Backfills:
    return Backfills(aws, rules, tmp_path, monkeypatch)


@pytest.mark.both_sparks
def test_a_target_gets_the_current_objects_that_its_rules_match(
    spark: SparkSession, deployment: Backfills
) -> None:
    photos = deployment.add_rule(prefix="photos/", suffix=".jpg")
    deployment.add_rule(arn="arn:minio:sqs::other:webhook")
    deployment.add_object("photos/cat.jpg", version_id="v2", size=2**40, etag="d41d8-3")
    deployment.add_object("photos/cat.jpg", version_id="v1", is_latest=False)
    deployment.add_object("photos/gone.jpg", version_id="v4", is_delete_marker=True)
    deployment.add_object(
        "photos/\0\ufffe\U0001f408+%2F .jpg", last_modified=None, size=None, etag=None
    )
    deployment.add_object("notes.txt")
    result = deployment.backfill(spark)
    wanted = [
        Object(BUCKET, "photos/\0\ufffe\U0001f408+%2F .jpg", storage_class="STANDARD"),
        Object(BUCKET, "photos/cat.jpg", "v2", 2**40, "d41d8-3", MS, "STANDARD"),
    ]
    assert deployment.drain() == [(photos.id, told(created(found))) for found in wanted]
    assert result == {
        "status": "success",
        "bucket": BUCKET,
        "source": "listing",
        "prefix": "",
        "manifest": "",
        "versions": "current",
        "target": MIRROR,
        "objects": 3,
        "matched": 2,
        "events": 2,
        "notes": [],
        "sent": 2,
        "paused": False,
        "not_sent": 0,
        "not_sent_reasons": {},
        "not_sent_report": "",
    }


def test_all_versions_are_sent_in_the_order_of_their_times(
    spark: SparkSession, deployment: Backfills
) -> None:
    """Those of one second as they were put. A delete marker is a removal, if a rule asks for it.

    The current one comes last: an upload in parts has the time of its start.
    """
    deployment.add_rule("s3:ObjectCreated:*", "s3:ObjectRemoved:*")
    for version, hour in (("v3", 1), ("v2", 2), ("m", 1), ("v1", 0)):
        deployment.add_object(
            "a",
            version_id=version,
            is_latest=version == "v3",
            is_delete_marker=version == "m",
            last_modified=MODIFIED + timedelta(hours=hour),
        )
    deployment.add_object("b", version_id="null")
    result = deployment.backfill(spark, versions="all", rate="10")
    assert (result["objects"], result["versions"], result["sent"]) == (5, "all", 5)
    hours = ("09", "10", "11")
    assert [
        (event.key, event.version_id, event.name, event.time[11:13])
        for _, event in deployment.drain()
    ] == [
        ("a", "v1", "s3:ObjectCreated:Put", hours[0]),
        ("a", "m", "s3:ObjectRemoved:DeleteMarkerCreated", hours[1]),
        ("a", "v2", "s3:ObjectCreated:Put", hours[2]),
        ("a", "v3", "s3:ObjectCreated:Put", hours[1]),
        ("b", None, "s3:ObjectCreated:Put", hours[0]),
    ]


def test_only_the_objects_of_a_manifest_are_sent(
    spark: SparkSession, aws: Emulator, deployment: Backfills, tmp_path: Path
) -> None:
    """One that is gone is a line of the result, and not the end."""
    s3, folder = aws.client("s3"), f"{deployment.name}/"
    s3.create_bucket(Bucket=BUCKET)
    for key in ("listed", "too large", "not listed"):
        s3.put_object(Bucket=BUCKET, Key=folder + key, Body=b"x" * len(key))
    rows = [f"{BUCKET},{folder}{key}\n" for key in ("listed", "too%20large", "gone")]
    (tmp_path / "objects.csv").write_text("".join(rows))
    deployment.add_rule()
    url = (tmp_path / "objects.csv").as_uri()
    result = deployment.backfill(spark, manifest=url, max_size="6")
    assert [(event.key, event.size) for _, event in deployment.drain()] == [(f"{folder}listed", 6)]
    assert (result["objects"], result["sent"], result["manifest"]) == (1, 1, url)
    assert result["max_size"] == "6"
    assert result["not_sent_reasons"] == {"there is no such object or version (404)": 1}
    (report,) = (tmp_path / "run" / "not-sent" / "objects").iterdir()
    assert report.read_text().startswith(f"{BUCKET},{folder}gone,,")
    assert deployment.backfill(spark, manifest=url, max_size="6")["not_sent"] == 1


def test_an_interrupted_run_resumes_where_it_stopped(
    spark: SparkSession, deployment: Backfills, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends after listing, then without a queue; the bucket grows meanwhile."""
    deployment.add_rule()
    for number in range(40):
        deployment.add_object(f"{number:02}")
    with monkeypatch.context() as patch:
        patch.setattr(sender, "send", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            deployment.backfill(spark)
    deployment.add_object("new")
    deployment.sqs.delete_queue(QueueUrl=deployment.url)
    with pytest.raises(BucketcastError, match="40 events were not sent"):
        deployment.backfill(spark)
    deployment.sqs.create_queue(QueueName=f"{deployment.name}-postgres-mirror")
    result = deployment.backfill(spark)
    assert (result["objects"], result["events"], deployment.listings) == (40, 40, 1)
    assert [event.key for _, event in deployment.drain()] == [
        f"{number:02}" for number in range(40)
    ]
    assert deployment.backfill(spark)["events"] == 40
    assert not deployment.drain(), "a run that has ended sends no event again"


def test_a_run_that_still_works_is_not_resumed(
    spark: SparkSession, deployment: Backfills, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second attempt ends with an error, sends nothing and leaves the folder alone."""
    deployment.add_rule()
    deployment.add_object("a")
    send, refused = sender.send, []

    def send_and_resume(*arguments: Any, **options: Any) -> int:
        monkeypatch.setattr(sender, "send", send)
        with pytest.raises(BucketcastError, match=r"/run sends its events now; wait until it"):
            deployment.backfill(spark)
        refused.append(list(files.list_files(deployment.settings().run)))
        return send(*arguments, **options)

    monkeypatch.setattr(sender, "send", send_and_resume)
    assert deployment.backfill(spark)["status"] == "success"
    assert [event.key for _, event in deployment.drain()] == ["a"]
    assert [name for name in refused[0] if name == "result.json"] == []
    assert deployment.backfill(spark)["events"] == 1


def test_a_run_pauses_before_glue_would_end_it(
    spark: SparkSession, deployment: Backfills, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment.add_rule()
    deployment.add_object("a")
    with monkeypatch.context() as patch:
        patch.setattr(backfill_module, "_SPARE", 600)
        patch.setattr(backfill_module, "_SPARE_SHARE", 1.0)
        result = deployment.backfill(spark, timeout="600")
    assert (result["status"], result["paused"], result["sent"]) == ("success", True, 0)
    assert deployment.backfill(spark, timeout="600")["paused"] is False


def test_a_dry_run_prepares_what_the_same_run_sends(
    spark: SparkSession, deployment: Backfills
) -> None:
    deployment.add_rule()
    other = deployment.add_rule(prefix="photos/")
    for number in range(40):
        deployment.add_object(f"{number:02}")
    result = deployment.backfill(spark, dry_run="on", rate="20")
    assert result["estimate"] == {"seconds": 2}
    assert (result["objects"], result["events"]) == (40, 40)
    assert not deployment.drain()
    assert deployment.backfill(spark)["sent"] == 40
    assert (len(deployment.drain()), deployment.listings) == (40, 1)
    deployment.rules.remove([other])
    with pytest.raises(BucketcastError, match=r"by 1 rules of .* removed since: start a new run"):
        deployment.backfill(spark)


def test_the_result_counts_what_sqs_refused(
    spark: SparkSession, deployment: Backfills, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment.add_rule()
    deployment.add_object("a")

    def refuse(*_: object, run: str, **__: object) -> int:
        listed = [NotSent(BUCKET, "a", None, "InternalError: try later")]
        not_sent.write(f"{run}/not-sent/messages/0-0.csv", listed)
        raise sender.RefusedError("1 events were not sent")

    deployment.add_object("b")
    with monkeypatch.context() as patch:
        patch.setattr(sender, "send", refuse)
        read = Mock(wraps=files.read)
        patch.setattr(files, "read", read)
        result = deployment.backfill(spark)
    assert sum(call.args[0].endswith(".csv") for call in read.call_args_list) == 1
    assert (result["sent"], result["paused"], result["not_sent"]) == (0, True, 1)
    assert result["not_sent_reasons"] == {"InternalError: try later": 1}
    assert result["not_sent_report"].endswith("/run/not-sent")
    result = deployment.backfill(spark)
    assert (result["sent"], result["not_sent"], result["not_sent_report"]) == (2, 0, "")


def _interrupt(*_: object, **__: object) -> int:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("events", "expected"),
    [((), "has no rule in uploads"), (("s3:ObjectRemoved:*",), "only rules for s3:ObjectRemoved")],
)
def test_a_bucket_without_a_rule_is_not_listed(
    spark: SparkSession, deployment: Backfills, events: tuple[str, ...], expected: str
) -> None:
    deployment.add_rule(arn="arn:minio:sqs::other:webhook")
    deployment.add_rule(disabled=True)
    if events:
        deployment.add_rule(*events)
    with pytest.raises(
        BucketcastError, match=rf"{expected}.*bucketcast event add uploads {MIRROR}"
    ):
        deployment.backfill(spark)
    assert not deployment.listings


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"target": "mirror"}, "--target: invalid ARN 'mirror'"),
        ({"table": "no-such-table"}, "--table: no-such-table: "),
    ],
)
def test_an_invalid_option_is_named_in_the_error(
    spark: SparkSession, deployment: Backfills, options: dict[str, str], expected: str
) -> None:
    with pytest.raises(BucketcastError, match=expected):
        deployment.backfill(spark, **options)


def test_a_listing_older_than_14_days_is_refused(
    spark: SparkSession, deployment: Backfills
) -> None:
    deployment.add_rule()
    for number in range(900):
        deployment.add_object(str(number))
    deployment.taken -= timedelta(days=15)
    with pytest.raises(BucketcastError, match=r"listing is of .* for 14 days.*a newer report"):
        deployment.backfill(spark)
    deployment.taken = datetime.now(UTC) - timedelta(days=14) + timedelta(minutes=10)
    with pytest.raises(BucketcastError, match=r"all events are sent in 0\.0 days.*raise --rate"):
        deployment.backfill(spark, rate="1")
