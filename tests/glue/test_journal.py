"""S3 Metadata's journal as a source of a backfill: a real Iceberg table, in a folder."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from bucketcast.delivery.envelope import unpack
from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.mirror.synthetic import time_of
from bucketcast.rules.conditions import Condition
from bucketcast.state.rules import Rules
from glue_jobs.backfill import journal
from glue_jobs.backfill.journal import Change
from tests.contract.oracle import visible
from tests.glue.emulator import Emulator
from tests.glue.test_backfill import BUCKET, MIRROR, Backfills
from tests.unit.samples import event as real_event

# https://docs.aws.amazon.com/AmazonS3/latest/userguide/metadata-tables-schema.html
COLUMNS = """
    bucket string NOT NULL, key string NOT NULL, sequence_number string NOT NULL,
    record_type string NOT NULL, record_timestamp timestamp_ntz NOT NULL, version_id string,
    is_delete_marker boolean, size bigint, last_modified_date timestamp_ntz, e_tag string,
    storage_class string, is_multipart boolean, encryption_status string,
    is_bucket_key_enabled boolean, kms_key_arn string, checksum_algorithm string,
    object_tags map<string, string>, user_metadata map<string, string>, requester string,
    source_ip_address string, request_id string
"""
UNSTATED = (
    "is_delete_marker",
    "size",
    "e_tag",
    "storage_class",
    "object_tags",
    "user_metadata",
    "requester",
    "source_ip_address",
    "request_id",
)
"""What S3 does not state of a permanent removal."""
TABLE = f"s3md.b_{BUCKET}.journal"
PUT, DELETE = "s3:ObjectCreated:Put", "s3:ObjectRemoved:Delete"
MARKER = "s3:ObjectRemoved:DeleteMarkerCreated"
START = datetime.now(UTC).replace(microsecond=0) - timedelta(days=2)


class Journal:
    """A bucket's journal, and a deployment that reads it."""

    def __init__(self, spark: SparkSession, deployment: Backfills) -> None:
        self.deployment = deployment
        self._spark = spark
        self._rows: list[tuple[Any, ...]] = []

    def add(self, key: str, after: float = 0.0, **more: Any) -> None:
        """Add a row that S3 wrote so many seconds after `START`."""
        row: dict[str, Any] = {
            "bucket": BUCKET,
            "key": key,
            "sequence_number": f"{len(self._rows):015x}",
            "record_type": "CREATE",
            "record_timestamp": (START + timedelta(seconds=after)).replace(tzinfo=None),
            "is_delete_marker": False,
            "size": 1,
            "e_tag": "d41d8",
            "storage_class": "STANDARD",
            "object_tags": {},
            "user_metadata": {},
            "requester": "111122223333",
            "source_ip_address": "192.0.2.1",
            "request_id": "CVK8FWYRW0M9JW65",
        } | more
        columns = self._spark.table(TABLE).schema.fieldNames()
        self._rows.append(tuple(row.get(name) for name in columns))

    def remove(self, key: str, after: float = 0.0, **more: Any) -> None:
        """Add the row of a permanent removal: S3 states the version at most."""
        unstated: dict[str, Any] = dict.fromkeys(UNSTATED)
        self.add(key, after, record_type="DELETE", **unstated, **more)

    def write(self) -> None:
        frame = self._spark.createDataFrame(self._rows, self._spark.table(TABLE).schema)
        frame.writeTo(TABLE).append()

    def backfill(self, **more: str) -> Any:
        options = {"source": "journal", "modified_after": START.isoformat()} | more
        return self.deployment.backfill(self._spark, **options)


@pytest.fixture
def written(
    spark: SparkSession,
    aws: Emulator,
    rules: Rules,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Journal]:
    spark.sql(f"CREATE TABLE {TABLE} ({COLUMNS}) USING iceberg")
    yield Journal(spark, Backfills(aws, rules, tmp_path, monkeypatch))
    spark.sql(f"DROP TABLE {TABLE}")


@pytest.mark.both_sparks
def test_a_target_gets_what_changed_between_two_times_and_who_asked(written: Journal) -> None:
    for events in ("s3:ObjectCreated:*", "s3:ObjectRemoved:*"):
        written.deployment.add_rule(events, prefix="photos/")
    written.add("photos/earlier", -0.001)
    written.add("photos/cat.jpg", 0.899, version_id="v1", size=6223, e_tag="d41d8-2")
    written.add("photos/cat.jpg", 1, record_type="UPDATE_METADATA", version_id="v1")
    written.add("photos/cat.jpg", 2, record_type="DELETE", version_id="v2", is_delete_marker=True)
    written.remove("photos/gone.jpg", 3, version_id="v0")
    written.remove("photos/without a version", 3)
    expired = {"record_type": "DELETE", "requester": "s3.amazonaws.com", "source_ip_address": None}
    written.add("photos/old.jpg", 4, **expired, is_delete_marker=True, version_id="v9")
    written.add("other/cat.jpg", 4)
    written.add("photos/later", 5)
    written.write()
    result = written.backfill(
        prefix="photos/", modified_before=(START + timedelta(seconds=5)).isoformat()
    )
    sent = [event for _, event in written.deployment.drain()]
    assert {(event.key, event.name, event.version_id) for event in sent} == {
        ("photos/cat.jpg", "s3:ObjectCreated:CompleteMultipartUpload", "v1"),
        ("photos/cat.jpg", MARKER, "v2"),
        ("photos/gone.jpg", DELETE, "v0"),
        ("photos/without a version", DELETE, "null"),
        ("photos/old.jpg", MARKER, "v9"),
    }
    put = next(event for event in sent if event.version_id == "v1")
    assert (put.size, put.time) == (6223, time_of(round(START.timestamp() * 1000) + 899))
    assert (put.principal, put.source_ip) == ("111122223333", "192.0.2.1")
    live = real_event(
        "photos/cat.jpg",
        name=put.name,
        bucket=BUCKET,
        version_id="v1",
        request_id="CVK8FWYRW0M9JW65",
        sequencer="0055AED6DCD90281E5",
    )
    assert put.id == live.id, "who has had the real event recognises it"
    assert (result["objects"], result["matched"], result["events"]) == (5, 5, 5)
    assert result["modified_after"] == str(START)
    (note,) = result["notes"]
    assert f"bucketcast reconcile {BUCKET} --target {MIRROR} --repair" in note


def test_an_ordered_queue_gets_the_changes_of_a_key_in_their_order(written: Journal) -> None:
    """Sequence numbers decide, and the times of the events follow them."""
    deployment = written.deployment
    deployment.add_rule("s3:ObjectCreated:*")
    deployment.add_rule("s3:ObjectRemoved:*")
    attributes = {"FifoQueue": "true"}
    name = f"{deployment.name}-mirror.fifo"
    deployment.url = deployment.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    for key in "abcdefgh":
        written.add(key, 3, sequence_number="2f", e_tag="second")
        written.remove(key, 3, sequence_number="1f")
        written.add(key, 3, sequence_number="3", e_tag="third", request_id="3")
        written.add(key, 4, sequence_number="0f", e_tag="first", request_id="0")
    written.write()
    written.backfill()
    sent: list[Event] = []
    wanted = {"QueueUrl": deployment.url, "MaxNumberOfMessages": 10}
    while messages := deployment.sqs.receive_message(**wanted).get("Messages"):
        for message in messages:
            sent += [delivery.event for delivery in unpack(message["Body"])]
            handle = message["ReceiptHandle"]
            deployment.sqs.delete_message(QueueUrl=deployment.url, ReceiptHandle=handle)
    at = round(START.timestamp() * 1000) + 4000
    for key in "abcdefgh":
        of_key = [(event.etag or "", event.time) for event in sent if event.key == key]
        assert of_key == [
            (etag, time_of(at + nth)) for nth, etag in enumerate(("first", "", "second", "third"))
        ]


def test_conditions_use_what_the_journal_knows(written: Journal) -> None:
    """Conditions on what it lacks count as met; on a removal's origin, as not."""
    deployment = written.deployment
    conditions = {
        "tag": Condition("tag:class", ("public",)),
        "metadata": Condition("metadata:x-amz-meta-env", ("prod",)),
        "source_ip": Condition("source_ip", ("192.0.2.0/24",), how="cidr"),
        "principal": Condition("principal", ("111122223333",)),
        "content_type": Condition("content_type", ("image/png",)),
    }
    for prefix, condition in conditions.items():
        deployment.add_rule(prefix=f"{prefix}/", conditions=(condition,))
        written.add(f"{prefix}/yes", object_tags={"class": "public"}, user_metadata={"Env": "prod"})
        written.add(f"{prefix}/no", source_ip_address="198.51.100.7", requester="444455556666")
        written.add(f"{prefix}/unknown", object_tags=None, user_metadata=None)
    deployment.add_rule("s3:LifecycleExpiration:*", prefix="expired/")
    removal: dict[str, Any] = {"record_type": "DELETE", "is_delete_marker": True}
    written.add("expired/yes", **removal, requester="s3.amazonaws.com")
    written.add("expired/no", **removal)
    written.write()
    notes = written.backfill()["notes"]
    assert [event.key for _, event in deployment.drain()] == [
        "content_type/no",
        "content_type/unknown",
        "content_type/yes",
        "expired/yes",
        "metadata/unknown",
        "metadata/yes",
        "principal/unknown",
        "principal/yes",
        "source_ip/unknown",
        "source_ip/yes",
        "tag/unknown",
        "tag/yes",
    ]
    assert any("does not show content_type: conditions on that counted as met" in n for n in notes)
    assert any("conditions on principal, source_ip counted as not met" in note for note in notes)


def test_notes_say_what_the_journal_may_lack(written: Journal) -> None:
    written.deployment.add_rule()
    written.add("a")
    written.write()
    early = (START - timedelta(hours=1)).isoformat()
    begins, lacks, loses = written.backfill(modified_after=early)["notes"]
    assert begins.startswith(f"{TABLE} begins at {START:%Y-%m-%d %H:%M:%S} UTC")
    assert lacks.startswith(f"S3 Metadata table {TABLE} of 20")
    assert f"bucketcast reconcile {BUCKET} --target {MIRROR} --repair" in loses


def test_bad_options_are_refused(written: Journal) -> None:
    written.deployment.add_rule()
    written.add("a")
    written.write()
    early = (START - timedelta(days=13)).isoformat()
    for name, value, expected in (
        ("modified_after", "", "the first change may be of .*a later --modified-after"),
        ("modified_after", early, "the first .* for 14 days.*a later --modified-after"),
        ("source", "journal:s3md.x", r"s3md\.x: found no CATALOG\.NAMESPACE\.TABLE"),
        ("source", "journal:s3md.b_other.journal", "turn on the journal table .* of uploads"),
    ):
        with pytest.raises(BucketcastError, match=expected):
            written.backfill(**{name: value})
    assert not written.deployment.drain()


class Step(NamedTuple):
    """A change of a key, and whether its real event was lost."""

    key: str
    removes: bool
    lost: bool


STEPS = st.builds(Step, st.sampled_from("ab"), st.booleans(), st.booleans())


@given(st.lists(STEPS, max_size=8), st.randoms())
def test_replayed_changes_lose_against_real_ones(steps: list[Step], random: Any) -> None:
    """A key of which real events arrived ends as they say, and any other as the journal does.

    They come in any order, some of them twice; no real sequencer is in the journal.
    """
    real, replayed = list[Event](), list[Event]()
    for nth, step in enumerate(steps, 1):
        change = Change(
            bucket="uploads",
            key=step.key,
            version_id=None,
            size=None if step.removes else nth,
            etag=None if step.removes else f"e{nth}",
            at=round(START.timestamp() * 1000) + nth,
            storage_class=None,
            is_delete_marker=False,
            kind="DELETE" if step.removes else "CREATE",
            requester=None,
            source_ip=None,
            request_id=None,
            tags=None,
            metadata=None,
        )
        replayed.append(journal.event(change))
        if not step.lost:
            about: Any = {"sequencer": f"{nth:X}", "time": replayed[-1].time}
            name = DELETE if step.removes else PUT
            etag = None if step.removes else f"e{nth}"
            real.append(real_event(step.key, name=name, etag=etag, **about))
    mixed = real + replayed
    mixed += mixed[::2]
    random.shuffle(mixed)
    told = {step.key for step in steps if not step.lost}
    final = {
        step.key: None if step.removes else f"e{nth}"
        for nth, step in enumerate(steps, 1)
        if not (step.lost and step.key in told)
    }
    assert {path: row.etag for path, row in visible(mixed).items()} == {
        f"uploads/{key}": etag for key, etag in final.items() if etag
    }
