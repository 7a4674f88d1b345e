"""Which version is visible after one was removed, which S3 does not report."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import EndpointConnectionError

from bucketcast.event import AGENT, Event
from bucketcast.ingest.aws.object_facts import ObjectReader
from bucketcast.rules import Rule, RuleIndex
from bucketcast.rules.conditions import Fact
from bucketcast.settings.environment import ObjectFacts
from tests.unit.ingest.routed import batches, object_reader, route
from tests.unit.ingest.versioned_bucket import record_of
from tests.unit.moto_aws import refusal
from tests.unit.samples import event, message

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MIRROR, HOOK = "arn:minio:sqs::mirror:postgresql", "arn:minio:sqs::hook:webhook"
BUCKETS = frozenset({"uploads"})


@pytest.fixture
def bucket(s3: "S3Client") -> "S3Client":
    """One with versions."""
    s3.create_bucket(Bucket="uploads")
    s3.put_bucket_versioning(Bucket="uploads", VersioningConfiguration={"Status": "Enabled"})
    return s3


def objects(s3: "S3Client") -> ObjectReader:
    facts = ObjectFacts(BUCKETS, {}, frozenset({MIRROR}))
    return object_reader(s3, facts)


def put(s3: "S3Client", body: bytes = b"1", **more: Any) -> str:
    return s3.put_object(Bucket="uploads", Key="a", Body=body, **more)["VersionId"]


def removal(version: str | None, **more: Any) -> Event:
    fields = {"sequencer": "0055AED6DCD9", "version_id": version} | more
    return event("a", name=fields.pop("name", "s3:ObjectRemoved:Delete"), **fields)


def seen(s3: "S3Client", after: Event, fact: Fact = Fact.HEAD) -> Event | None:
    (found,) = objects(s3).read_current([(after, fact)], 30.0)
    return found


def test_the_version_below_is_sent_as_a_put_right_after_the_removal(bucket: "S3Client") -> None:
    below = put(bucket, b"12", Metadata={"team": "red"}, Tagging="class=public")
    above = put(bucket, b"345")
    bucket.delete_object(Bucket="uploads", Key="a", VersionId=above)
    after = removal(above)
    found = seen(bucket, after, Fact.HEAD | Fact.TAGS)
    assert found is not None
    assert (found.name, found.bucket, found.key) == ("s3:ObjectCreated:Put", "uploads", "a")
    assert (found.version_id, found.size) == (below, 2)
    assert found.etag == "c20ad4d76fe97759aa27a0c99bff6710"
    assert found.metadata == {"x-amz-meta-team": "red"}
    assert found.tags == [("class", "public")]
    assert (found.sequencer, found.time) == (after.sequencer, "2026-03-14T09:26:53.590Z")
    assert after.order < found.order
    assert found.user_agent.startswith(AGENT)
    assert json.loads(bytes(found.record))["s3"]["object"]["versionId"] == below
    # Redelivered it is the same event.
    assert seen(bucket, after, Fact.HEAD | Fact.TAGS) == found


def test_a_removed_marker_shows_the_object_again(bucket: "S3Client") -> None:
    version = put(bucket)
    marker = bucket.delete_object(Bucket="uploads", Key="a")["VersionId"]
    assert seen(bucket, removal("v0")) is None  # the marker is there
    bucket.delete_object(Bucket="uploads", Key="a", VersionId=marker)
    found = seen(bucket, removal(marker))
    assert found is not None
    assert found.version_id == version


@pytest.mark.parametrize(
    ("change", "reads"),
    [
        ({}, True),
        ({"version_id": None}, False),
        ({"sequencer": ""}, False),
        ({"dialect": "eventbridge"}, True),
        ({"original": "s3:LifecycleExpiration:Delete"}, False),
        ({"bucket": "others"}, False),
        ({"name": "s3:ObjectRemoved:DeleteMarkerCreated"}, False),
        ({"name": "s3:LifecycleDelMarkerExpiration:Delete"}, False),
        ({"name": "s3:ObjectCreated:Put"}, False),
    ],
)
def test_only_a_version_of_amazons_that_went_asks(
    bucket: "S3Client", change: dict[str, Any], *, reads: bool
) -> None:
    assert (
        objects(bucket).may_reveal_version(removal("v1", **({"version_id": "v1"} | change)))
        is reads
    )


@pytest.mark.parametrize(
    "refused",
    [
        refusal("SlowDown", "HeadObject"),
        refusal("403", "HeadObject"),
        EndpointConnectionError(endpoint_url="https://s3"),
    ],
)
def test_a_refusal_is_reported_and_delays_nothing(
    bucket: "S3Client",
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    refused: Exception,
) -> None:
    def refuse(*_: Any) -> None:
        raise refused

    monkeypatch.setattr(ObjectReader, "_read_current", refuse)
    body = message(record_of("Delete", "a", 7, versionId="v1"))
    routed = route([("1", body)], rulebook(), objects(bucket))
    (one,) = batches(routed)[MIRROR]
    assert one.delivery.event.name == "s3:ObjectRemoved:Delete"
    assert routed.failed == []
    assert '"ObjectsUnseen":1' in capsys.readouterr().out
    assert "S3 does not say what its key shows now" in caplog.text


def rulebook() -> Callable[[frozenset[str]], dict[str, RuleIndex]]:
    both = ("s3:ObjectCreated:*", "s3:ObjectRemoved:*")
    rules = [Rule(bucket="uploads", arn=arn, events=both) for arn in (MIRROR, HOOK)]
    return lambda _: {"uploads": RuleIndex(rules)}
