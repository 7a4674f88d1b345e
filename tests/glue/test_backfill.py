"""The backfill as a job: from a bucket's rows to its target's queue, once, and told."""

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from bucketcast.aws.rules import Rules
from bucketcast.delivery.envelope import unpack
from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.rules import Rule
from bucketcast.settings.jobs import Backfill, arguments, parse
from glue_jobs import files, outbox
from glue_jobs.backfill.backfill import OtherRunError, TooOldError, backfill
from glue_jobs.backfill.destination import NoRuleError
from glue_jobs.events import Object, created
from glue_jobs.listing import read
from glue_jobs.listing.schema import LISTING, Listing
from glue_jobs.outbox import OutboxError
from glue_jobs.run import Run
from tests.glue.emulator import Emulator
from tests.unit.aws import TABLE

BUCKET, MIRROR = "uploads", "arn:minio:sqs::mirror:postgresql"
MODIFIED = datetime(2026, 3, 14, 9, 26, 53, 589_999, UTC)
MS = 1_773_480_413_589


class Place:
    """A deployment and a bucket, as far as the job sees them."""

    def __init__(
        self, aws: Emulator, rules: Rules, folder: Path, patch: pytest.MonkeyPatch
    ) -> None:
        self.folder = folder
        self.sqs = aws.client("sqs")
        self.rules = rules
        self.taken = datetime.now(UTC)
        self.listings = 0
        self._rows: list[tuple[Any, ...]] = []
        self.name = f"B{time.time_ns()}"
        self.url = self.sqs.create_queue(QueueName=f"{self.name}-postgres-mirror")["QueueUrl"]
        patch.setattr("glue_jobs.listing.read", self._read)

    def holds(self, key: str, **more: Any) -> None:
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

    def rule(self, *events: str, arn: str = MIRROR, **more: Any) -> Rule:
        made = Rule(bucket=BUCKET, arn=arn, events=events or ("s3:ObjectCreated:*",), **more)
        self.rules.add(made)
        return made

    def settings(self, **more: str) -> Backfill:
        texts = {
            "bucket": BUCKET,
            "target": MIRROR,
            "run": (self.folder / "run").as_uri(),
            "rules": TABLE,
            "queues": self.url.removesuffix("postgres-mirror"),
            "rate": "0",
        } | more
        argv = [word for pair in arguments(texts).items() for word in pair]
        return parse(Backfill, argv)

    def backfills(self, spark: SparkSession, **more: str) -> Mapping[str, Any]:
        """Run the job, and read the result that it leaves."""
        settings = self.settings(**more)
        with Run(settings.run) as run:
            backfill(spark, settings, run)
        result: Mapping[str, Any] = json.loads(files.read(run.path("result.json")))
        return result

    def sent(self) -> list[tuple[str, Event]]:
        """Rule and event of all that waits for the target, by key."""
        found: list[tuple[str, Event]] = []
        while got := self.sqs.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10).get(
            "Messages"
        ):
            for each in got:
                found += [(held.rule, held.event) for held in unpack(each["Body"])[1]]
        return sorted(found, key=lambda pair: pair[1].key)

    def _read(self, spark: SparkSession, bucket: str, source: str, *, prefix: str) -> Listing:
        assert bucket == BUCKET
        self.listings += 1
        rows = [row for row in self._rows if row[1].startswith(prefix)]
        frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, 2), LISTING)
        return Listing(frame, versions=True, taken=self.taken, name=source)


@pytest.fixture
def place(aws: Emulator, rules: Rules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(aws, rules, tmp_path, monkeypatch)


def test_a_target_gets_what_the_bucket_shows_and_its_rules_take(
    spark: SparkSession, place: Place
) -> None:
    photos = place.rule(prefix="photos/", suffix=".jpg")
    place.rule(arn="arn:minio:sqs::other:webhook")
    place.holds("photos/cat.jpg", version_id="v2", size=2**40, etag="d41d8-3")
    place.holds("photos/cat.jpg", version_id="v1", is_latest=False)
    place.holds("photos/gone.jpg", version_id="v4", is_delete_marker=True)
    place.holds("photos/\0\ufffe\U0001f408+%2F .jpg", last_modified=None, size=None, etag=None)
    place.holds("notes.txt")
    told = place.backfills(spark)
    wanted = [
        Object(BUCKET, "photos/\0\ufffe\U0001f408+%2F .jpg", storage_class="STANDARD"),
        Object(BUCKET, "photos/cat.jpg", "v2", 2**40, "d41d8-3", MS, "STANDARD"),
    ]
    assert place.sent() == [(photos.id, created(each)) for each in wanted]
    assert told == {
        "status": "success",
        "bucket": BUCKET,
        "source": "listing",
        "prefix": "",
        "target": MIRROR,
        "objects": 3,
        "matched": 2,
        "events": 2,
        "notes": [],
    }


def test_a_bucket_is_listed_as_it_is(
    spark: SparkSession, aws: Emulator, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glue_jobs.listing.read", read)
    s3, folder = aws.client("s3"), f"{place.name}/"
    s3.create_bucket(Bucket=BUCKET)
    for key in ("a b+c.txt", "gone", "z"):
        s3.put_object(Bucket=BUCKET, Key=folder + key, Body=b"three")
    s3.delete_object(Bucket=BUCKET, Key=f"{folder}gone")
    place.rule()
    assert place.backfills(spark, prefix=folder)["objects"] == 2
    events = [event for _, event in place.sent()]
    assert [(each.key, each.size, each.version_id) for each in events] == [
        (f"{folder}a b+c.txt", 5, None),
        (f"{folder}z", 5, None),
    ]
    assert {each.etag for each in events} == {"35d6d33467aae9a2e3dccb4b6b027878"}
    assert all(each.time > "2026" for each in events)


def test_an_interrupted_run_goes_on_where_it_stopped(
    spark: SparkSession, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends after listing, then for want of a queue; the bucket grows meanwhile."""
    place.rule()
    for number in range(40):
        place.holds(f"{number:02}")
    with monkeypatch.context() as patch:
        patch.setattr(outbox, "send", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            place.backfills(spark)
    place.holds("new")
    place.sqs.delete_queue(QueueUrl=place.url)
    with pytest.raises(OutboxError, match="40 events were not sent"):
        place.backfills(spark)
    place.sqs.create_queue(QueueName=f"{place.name}-postgres-mirror")
    told = place.backfills(spark)
    assert (told["objects"], told["events"], place.listings) == (40, 40, 1)
    assert [event.key for _, event in place.sent()] == [f"{number:02}" for number in range(40)]
    assert place.backfills(spark)["events"] == 40
    assert not place.sent(), "a run that has ended sends nothing again"
    with pytest.raises(OtherRunError, match=r"holds the backfill of .*prefix ''.*of its own"):
        place.backfills(spark, prefix="photos/")


def _interrupted(*_: object, **__: object) -> int:
    raise KeyboardInterrupt


def test_an_ordered_queue_gets_a_message_an_event(spark: SparkSession, place: Place) -> None:
    place.rule()
    place.holds("a")
    place.holds("b")
    attributes = {"FifoQueue": "true"}
    name = f"{place.name}-postgres-mirror.fifo"
    place.url = place.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    queues = place.url.removesuffix("postgres-mirror.fifo")
    assert place.backfills(spark, fifo="on", queues=queues)["events"] == 2
    answer = place.sqs.receive_message(
        QueueUrl=place.url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"]
    )
    about = [each["Attributes"] for each in answer["Messages"]]
    assert {each["MessageGroupId"] for each in about} == {MIRROR}
    assert {each["MessageDeduplicationId"] for each in about} == {
        created(Object(BUCKET, key, "null", 1, "d41d8", MS, "STANDARD")).id for key in "ab"
    }


def test_what_the_counts_do_not_say_is_noted(spark: SparkSession, place: Place) -> None:
    place.rule("s3:ObjectCreated:Copy", "s3:ObjectCreated:Put")
    place.holds("whole")
    place.holds("in parts", etag="d41d8-2")
    place.taken -= timedelta(days=3)
    told = place.backfills(spark, source="s3://inventories/uploads")
    assert told["events"] == 1
    unasked, late = told["notes"]
    assert unasked.startswith("1 objects were left out")
    assert f"those of {place.taken:%Y-%m-%d %H:%M} UTC" in late
    assert f"bucketcast reconcile {BUCKET} --target {MIRROR} --repair" in late


@pytest.mark.parametrize(
    ("asks", "found"),
    [((), "has no rule in uploads"), (("s3:ObjectRemoved:*",), "only rules for s3:ObjectRemoved")],
)
def test_without_a_rule_nothing_is_listed(
    spark: SparkSession, place: Place, asks: tuple[str, ...], found: str
) -> None:
    place.rule(arn="arn:minio:sqs::other:webhook")
    if asks:
        place.rule(*asks)
    with pytest.raises(NoRuleError, match=rf"{found}.*bucketcast event add uploads {MIRROR}"):
        place.backfills(spark)
    assert not place.listings


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"target": "arn:minio:sqs::x:carrier-pigeon"}, "--target: .*'carrier-pigeon'"),
        ({"target": "mirror"}, "--target: invalid ARN 'mirror'"),
        ({"rules": "no-such-table"}, "--rules: no-such-table: "),
    ],
)
def test_what_cannot_be_is_named(
    spark: SparkSession, place: Place, more: dict[str, str], text: str
) -> None:
    with pytest.raises(BucketcastError, match=text):
        place.backfills(spark, **more)


def test_what_would_bring_removed_objects_back_is_refused(
    spark: SparkSession, place: Place
) -> None:
    place.rule()
    for number in range(20):
        place.holds(str(number))
    place.taken -= timedelta(days=15)
    with pytest.raises(TooOldError, match=r"listing is of .* for 14 days.*a newer report"):
        place.backfills(spark)
    place.taken = datetime.now(UTC) - timedelta(days=14) + timedelta(seconds=10)
    with pytest.raises(TooOldError, match=r"all is sent in 0\.0 days.*raise --rate"):
        place.backfills(spark, rate="1")
