"""The recheck of each difference, and the event that repairs it."""

import msgspec
import pytest
from botocore.exceptions import ClientError
from pyspark.sql import SparkSession

from bucketcast.errors import BucketcastError
from bucketcast.event import padded
from bucketcast.mirror.rows import MergedState, StoredRow
from bucketcast.mirror.synthetic import EPOCH, OLDEST, Object
from bucketcast.rules import Rule
from bucketcast.rules.conditions import Condition
from glue_jobs.aws import client
from glue_jobs.reconcile import mirror, recheck, repair
from glue_jobs.reconcile.recheck import CHANGING, UNCOVERED, Context, Difference, Found
from tests.glue.emulator import Emulator

ARN = "arn:minio:sqs::mirror:postgresql"
BEGAN = 1_767_323_045_000
EARLIER, LATER = "2026-01-02T03:04:04.999Z", "2026-01-02T03:04:05.000Z"
OBJECT = Object("uploads", "a", None, 5, "one", BEGAN - 1)
ROW = StoredRow("uploads/a", padded("5"), EARLIER, "two", 5)


def context(*rules: Rule) -> Context:
    return Context(mirror.MirrorConfig(ARN, "postgres", {}), "rechecked", rules, BEGAN)


def any_rule(_key: str, _found: Found | None) -> str:
    return "rule-1"


def no_rule(_key: str, _found: Found | None) -> str:
    return ""


@pytest.mark.parametrize(
    ("found", "row", "what"),
    [
        (OBJECT, None, "missing"),
        (OBJECT, ROW, "stale"),
        (None, ROW, "extra"),
        (OBJECT._replace(modified=BEGAN), None, CHANGING),
        (OBJECT._replace(modified=BEGAN), ROW, CHANGING),
        (OBJECT, StoredRow("uploads/a", "", LATER, "two", 5), CHANGING),
        (None, StoredRow("uploads/a", "", LATER, "two", 5), CHANGING),
        (None, StoredRow("uploads/a", "", "2026-02-30T00:00:00.000Z"), "extra"),
    ],
)
def test_remaining_differences_are_reported(
    found: Object | None, row: StoredRow | None, what: str
) -> None:
    difference = recheck.difference(
        "a", found and Found(found), MergedState(row, padded("7"), LATER), BEGAN, any_rule
    )
    assert difference
    assert (difference.what, difference.rule) == (what, "rule-1")
    assert (difference.known_sequencer, difference.known_time) == (padded("7"), LATER)
    assert (difference.etag, difference.size) == (
        (found.etag, found.size) if found else (None,) * 2
    )
    assert (difference.row_etag, difference.row_time) == (
        (row.etag, row.time) if row else (None, None)
    )


def test_resolved_differences_are_not_reported() -> None:
    row = StoredRow("uploads/a", padded("5"), EARLIER, "one", 5)
    assert recheck.difference("a", Found(OBJECT), MergedState(row), BEGAN, any_rule) is None
    assert (
        recheck.difference("a", None, MergedState(None, padded("5"), EARLIER), BEGAN, any_rule)
        is None
    )


def test_a_row_that_no_rule_matches_is_uncovered() -> None:
    stale = recheck.difference("a", Found(OBJECT), MergedState(ROW), BEGAN, no_rule)
    extra = recheck.difference("a", None, MergedState(ROW), BEGAN, no_rule)
    assert stale
    assert extra
    assert (stale.what, extra.what) == (UNCOVERED, UNCOVERED)
    assert recheck.difference("a", Found(OBJECT), MergedState(), BEGAN, no_rule) is None


def test_a_repair_has_the_newest_order_key_and_a_later_time() -> None:
    missing = Difference(
        "a b",
        "missing",
        "r",
        "3HL4",
        5,
        "one",
        BEGAN - 500,
        None,
        known_sequencer=padded("9"),
        known_time=EARLIER,
    )
    event = repair.corrective_event("uploads", missing)
    assert (event.name, event.bucket, event.key) == ("s3:ObjectCreated:Put", "uploads", "a b")
    assert (event.size, event.etag, event.version_id) == (5, "one", "3HL4")
    assert event.order == (padded("9"), LATER)
    extra = repair.corrective_event("uploads", missing._replace(what="extra"))
    assert (extra.name, extra.key) == ("s3:ObjectRemoved:Delete", "a b")
    assert extra.order == (padded("9"), LATER)
    assert extra.version_id is None


def test_a_repair_is_not_older_than_its_object() -> None:
    missing = Difference("a", "missing", size=5, modified=BEGAN, known_time=EPOCH)
    assert repair.corrective_event("uploads", missing).order == (padded(OLDEST), LATER)


def test_an_invalid_date_counts_as_none() -> None:
    extra = Difference("a", "extra", known_sequencer=padded("5"), known_time="2026-02-30T00:00:00Z")
    assert repair.corrective_event("uploads", extra).order == (padded("5"), EPOCH)


def test_an_object_is_read_live(aws: Emulator) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="rechecked")
    s3.put_object(Bucket="rechecked", Key="a b/ü+", Body=b"12345")
    read = recheck.read_object(context(), "a b/ü+")
    assert read
    found = read.object
    assert (found.bucket, found.key, found.size) == ("rechecked", "a b/ü+", 5)
    assert found.etag == "827ccb0eea8a706c4c34a16891f84e7b"
    assert found.modified
    listed = recheck._read_listed("rechecked", "a b/ü+")
    assert listed
    assert listed[:5] == found[:5]
    assert recheck.read_object(context(), "a b/ü") is None
    assert recheck._read_listed("rechecked", "a b/ü") is None


@pytest.mark.parametrize(
    ("met", "unmet"),
    [
        (Condition(on="storage_class", values=("STANDARD",)), ("GLACIER",)),
        (Condition(on="content_type", values=("text/",), how="prefix"), ("image/",)),
        (Condition(on="metadata:x-amz-meta-env", values=("test",)), ("prod",)),
        (Condition(on="tag:class", values=("internal",)), ("public",)),
    ],
    ids=lambda value: getattr(value, "on", None),
)
def test_an_object_that_a_condition_excludes_is_not_missing(
    aws: Emulator, met: Condition, unmet: tuple[str, ...]
) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="rechecked")
    s3.put_object(
        Bucket="rechecked",
        Key="a",
        Body=b"12345",
        ContentType="text/plain",
        Metadata={"env": "test"},
        Tagging="class=internal",
    )
    differences = []
    for condition in (met, msgspec.structs.replace(met, values=unmet)):
        rule = Rule(
            bucket="rechecked", arn=ARN, events=("s3:ObjectCreated:*",), conditions=(condition,)
        )
        of_rule = context(rule)
        found = recheck.read_object(of_rule, "a")
        find_rule = recheck.rule_finder(of_rule)
        differences.append(recheck.difference("a", found, MergedState(), 1 << 60, find_rule))
    missing, excluded = differences
    assert missing
    assert missing.what == "missing"
    assert excluded is None


def test_all_cores_read_objects_and_few_the_target(spark: SparkSession) -> None:
    """A database allows two connections by default; S3 answers thousands of requests a second."""
    settings = {"connection_string": "", "table": "t", "format": "namespace"}
    one = mirror.MirrorConfig(ARN, "postgres", settings | {"max_open_connections": "1"})
    of_one = context()._replace(config=one)
    keys = spark.createDataFrame([("a",)], "key string")
    assert recheck.read_states(keys, of_one).rdd.getNumPartitions() == 1
    states = spark.createDataFrame([], recheck.STATES)
    assert recheck.recheck(states, of_one).rdd.getNumPartitions() == 2


@pytest.mark.parametrize("row", [None, ROW])
def test_a_state_is_saved_and_read_as_it_was(row: StoredRow | None) -> None:
    fields = msgspec.structs.astuple(row)[1:] if row else (None,) * 5
    state = recheck.State("a", padded("7"), LATER, *fields)
    assert state.merged("uploads") == MergedState(row, padded("7"), LATER)


def test_an_object_that_cannot_be_read_is_reported(
    aws: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise ClientError({"Error": {"Code": "403", "Message": "Forbidden"}}, "HeadObject")

    aws.client("s3").create_bucket(Bucket="rechecked")
    aws.client("s3").put_object(Bucket="rechecked", Key="a", Body=b"12345")
    monkeypatch.setattr(client("s3"), "head_object", refuse)
    found = recheck.read_object(context(), "a")
    assert found, "its listing is enough"
    assert (found.object.size, found.facts) == (5, {})
    monkeypatch.setattr(client("s3"), "list_objects_v2", refuse)
    with pytest.raises(BucketcastError, match=r"^s3://rechecked/a: .*403.*`buckets` in \[pipe"):
        recheck.read_object(context(), "a")
