"""What is read from S3 about objects, and what becomes of events whose object cannot be read."""

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError

from bucketcast.event import Event
from bucketcast.ingest.aws.head_object import event_fields
from bucketcast.ingest.aws.object_facts import ObjectReader
from bucketcast.rules.conditions import Fact
from bucketcast.settings.environment import ANY_BUCKET, ObjectFacts
from tests.unit.ingest.routed import object_reader
from tests.unit.moto_aws import refusal
from tests.unit.samples import event

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BOTH = Fact.HEAD | Fact.TAGS
LATER = "2099-01-02T03:04:05.678Z"
"""After anything that a test puts."""
CREATED: Any = {
    "ContentType": "image/png",
    "Metadata": {"Team": "red", "city": "=?UTF-8?Q?K=C3=B6ln?="},
    "Tagging": "class=public&b=%3D",
}


@pytest.fixture
def bucket(s3: "S3Client") -> "S3Client":
    s3.create_bucket(Bucket="uploads")
    return s3


def objects(s3: "S3Client", *buckets: str) -> ObjectReader:
    return object_reader(s3, ObjectFacts(frozenset(buckets or {"uploads"})))


def look(reader: ObjectReader, requested: Sequence[tuple[Event, Fact]]) -> list[Event | None]:
    return reader.enrich(requested, 30.0)


def put(s3: "S3Client", key: str = "a", body: bytes = b"x", **more: Any) -> Event:
    """Put an object and return its event."""
    made = s3.put_object(Bucket="uploads", Key=key, Body=body, **more)
    return event(key, etag=made["ETag"].strip('"'), version_id=made.get("VersionId"))


@contextmanager
def counted(s3: "S3Client") -> Iterator[Counter[str]]:
    """How often each operation was called within."""
    calls: Counter[str] = Counter()

    def count(model: Any, **_: Any) -> None:
        calls[model.name] += 1

    s3.meta.events.register("before-call.s3", count)
    yield calls
    s3.meta.events.unregister("before-call.s3", count)


def test_head_and_tags_become_fields_of_the_event(bucket: "S3Client") -> None:
    made = put(bucket, **CREATED)
    (enriched,) = look(objects(bucket), [(made, BOTH)])
    assert enriched is not None
    city = CREATED["Metadata"]["city"]
    assert enriched.metadata == {"x-amz-meta-team": "red", "x-amz-meta-city": city}
    assert enriched.tags == [("class", "public"), ("b", "=")]
    found = (enriched.content_type, enriched.storage_class, enriched.size)
    assert found == ("image/png", "STANDARD", 1)
    assert enriched.record == made.record


def test_only_requested_facts_are_read_once_per_object(bucket: "S3Client") -> None:
    first, second = put(bucket, "a", **CREATED), put(bucket, "b", **CREATED)
    asking = [(first, Fact.TAGS), (second, Fact.HEAD), (first, Fact.TAGS), (second, Fact.HEAD)]
    with counted(bucket) as calls:
        one, two, again, _ = look(objects(bucket), asking)
    # The tags of an object without version need a head that vouches for them.
    assert calls == {"GetObjectTagging": 1, "HeadObject": 2}
    assert one == again
    assert one is not None
    assert two is not None
    assert (one.tags, one.metadata) == ([("class", "public"), ("b", "=")], None)
    assert (two.tags, two.content_type) == (None, "image/png")


def test_fields_of_the_event_stay(bucket: "S3Client") -> None:
    put(bucket, **CREATED, StorageClass="STANDARD_IA")
    changed = event("a", size=1, storage_class="GLACIER", time=LATER)
    (enriched,) = look(objects(bucket), [(changed, Fact.HEAD)])
    assert enriched is not None
    assert (enriched.storage_class, enriched.content_type) == ("GLACIER", "image/png")


def test_a_version_is_read_by_its_id(bucket: "S3Client") -> None:
    bucket.put_bucket_versioning(Bucket="uploads", VersioningConfiguration={"Status": "Enabled"})
    old = put(bucket, Tagging="n=1")
    new = put(bucket, Tagging="n=2")
    with counted(bucket) as calls:
        enriched = look(objects(bucket), [(old, Fact.TAGS), (new, Fact.TAGS)])
    assert [each.tags for each in enriched if each] == [[("n", "1")], [("n", "2")]]
    assert calls == {"GetObjectTagging": 2}


def test_a_gone_or_changed_object_is_noted_and_its_event_sent(
    bucket: "S3Client", caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    before = put(bucket, "changed", b"1", Tagging="class=old")
    put(bucket, "changed", b"2", Tagging="class=new")
    bucket.put_bucket_versioning(Bucket="uploads", VersioningConfiguration={"Status": "Enabled"})
    put(bucket, "hidden")
    marker = bucket.delete_object(Bucket="uploads", Key="hidden")["VersionId"]
    events = [
        before,
        event("never"),
        event("hidden"),
        event("hidden", version_id=marker),
        event("x", bucket="no-such-bucket"),
    ]
    enriched = look(objects(bucket, ANY_BUCKET), [(each, BOTH) for each in events])
    assert enriched == events
    (line,) = caplog.records
    assert (line.levelname, vars(line)["count"]) == ("WARNING", 5)
    (metric,) = [text for text in capsys.readouterr().out.splitlines() if '"_aws"' in text]
    assert json.loads(metric)["ObjectsGone"] == 5


def test_the_version_null_is_overwritten_like_none() -> None:
    class Suspended:
        def get_object_tagging(self, **_: Any) -> Any:
            return {"TagSet": [{"Key": "class", "Value": "of the next"}]}

        def head_object(self, **_: Any) -> Any:
            return {"ETag": '"next"', "ContentLength": 1}

    s3: Any = Suspended()
    first = event("a", etag="first", version_id="null")
    assert look(objects(s3), [(first, Fact.TAGS)]) == [first]


@pytest.mark.parametrize(
    "unseen",
    [
        event("a", name="s3:ObjectRemoved:Delete"),
        event("a", name="s3:ObjectRemoved:NoOP"),
        event("a", name="s3:LifecycleDelMarkerExpiration:Delete"),
        event("a", bucket="other"),
        event("", name="s3:BucketCreated:*"),
    ],
    ids=lambda each: f"{each.name}-{each.dialect}-{each.bucket}",
)
def test_removed_objects_are_not_read(bucket: "S3Client", unseen: Event) -> None:
    with counted(bucket) as calls:
        assert look(objects(bucket), [(unseen, BOTH)]) == [unseen]
    assert not calls


class Refusing:
    """S3 that refuses some keys, and answers others."""

    def __init__(self, **answers: Exception) -> None:
        self._answers = answers

    def head_object(self, *, Key: str, **_: Any) -> Any:  # noqa: N803 - boto3's name
        if Key in self._answers:
            raise self._answers[Key]
        return {"ETag": '"e"', "ContentLength": 1}


def test_a_refusal_or_silence_keeps_its_events_and_no_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    denied, denied_too = (refusal("403", "HeadObject") for _ in range(2))
    s3: Any = Refusing(
        denied=denied,
        denied_too=denied_too,
        slow=refusal("SlowDown", "HeadObject"),
        silent=EndpointConnectionError(endpoint_url="https://uploads.s3/secret-key"),
    )
    keys = ("denied", "fine", "denied_too", "slow", "silent")
    enriched = look(objects(s3), [(event(key), Fact.HEAD) for key in keys])
    assert [each.key if each else None for each in enriched] == [None, "fine", None, None, None]
    lines = list(map(vars, caplog.records))
    reasons = {line["reason"].partition(";")[0]: line["count"] for line in lines}
    assert reasons == {
        "HeadObject: 403": 2,
        "HeadObject: SlowDown": 1,
        "EndpointConnectionError": 1,
    }
    (hint,) = [line["reason"] for line in lines if "403" in line["reason"]]
    assert "s3:GetObjectTagging" in hint
    assert "s3:ListBucket" in hint


def test_an_object_whose_events_cannot_be_sent_is_not_retried_for_ever() -> None:
    error = refusal("400", "HeadObject")
    error.response["ResponseMetadata"] = {"HTTPStatusCode": 400}  # type: ignore[typeddict-item]
    s3: Any = Refusing(encrypted=error)
    one = event("encrypted")
    assert look(objects(s3), [(one, Fact.HEAD)]) == [one]


@pytest.mark.parametrize("others", [1, 50])
def test_a_silent_bucket_leaves_threads_and_time_to_the_others(others: int) -> None:
    """All threads waited for it, and all other events with them."""

    class Silent:
        def head_object(self, *, Bucket: str, **_: Any) -> Any:  # noqa: N803 - boto3's name
            if Bucket == "silent":
                time.sleep(1)
                raise ReadTimeoutError(endpoint_url="https://s3")
            return {"ETag": "", "ContentLength": 1}

    s3: Any = Silent()
    reader = objects(s3, ANY_BUCKET)
    names = ["silent"] * 100 + [f"well{number % others}" for number in range(100)]
    asking = [(event(str(n), bucket=name), Fact.HEAD) for n, name in enumerate(names)]
    for seconds in (0.5, 20.0):
        began = time.monotonic()
        found = reader.enrich(asking, seconds)
        assert time.monotonic() - began < 3, "each thread waits for it once"
        assert found[:100] == [None] * 100
        assert None not in found[100:]


def test_one_object_that_cannot_be_read_stops_no_other_of_its_bucket() -> None:
    s3: Any = Refusing(denied=refusal("403", "HeadObject"))
    reader = objects(s3)
    for _ in range(20):
        assert look(reader, [(event("denied"), Fact.HEAD)]) == [None]
    assert None not in look(reader, [(event("fine"), Fact.HEAD)])


def test_our_own_reads_are_recognized_by_their_session(bucket: "S3Client") -> None:
    requested = objects(bucket)
    ours = event(dialect="cloudtrail", principal="AROAEXAMPLE:Bucketcast-ingest")
    assert requested.is_self_caused(ours)
    assert not requested.is_self_caused(event(dialect="cloudtrail", principal="AROAEXAMPLE:anna"))
    assert not requested.is_self_caused(event(principal="AROAEXAMPLE:Bucketcast-ingest"))


def test_metadata_of_minio_becomes_headers(s3: "S3Client") -> None:
    s3.create_bucket(Bucket="uploads", ObjectLockEnabledForBucket=True)
    until = datetime(2099, 1, 2, 3, 4, 5, tzinfo=UTC)
    made = put(
        s3,
        CacheControl="max-age=60",
        ContentDisposition='attachment; filename="a.txt"',
        ContentEncoding="aws-chunked,gzip",
        ContentLanguage="de",
        StorageClass="STANDARD_IA",
        ObjectLockMode="GOVERNANCE",
        ObjectLockRetainUntilDate=until,
        ObjectLockLegalHoldStatus="ON",
    )
    (enriched,) = look(objects(s3), [(made, Fact.HEAD)])
    assert enriched is not None
    assert enriched.headers == {
        "cache-control": "max-age=60",
        "content-disposition": 'attachment; filename="a.txt"',
        "content-encoding": "gzip",
        "content-language": "de",
        "x-amz-object-lock-legal-hold": "ON",
        "x-amz-object-lock-mode": "GOVERNANCE",
        "x-amz-object-lock-retain-until-date": "2099-01-02T03:04:05.000Z",
        "x-amz-storage-class": "STANDARD_IA",
    }


def test_default_values_are_no_headers() -> None:
    head = {"ETag": '"e"', "ContentLength": 0, "ContentEncoding": "aws-chunked"}
    assert event_fields(head | {"StorageClass": "STANDARD"})["headers"] == {}
    replicated = event_fields(head | {"ReplicationStatus": "COMPLETED"})["headers"]
    assert replicated == {"X-Amz-Replication-Status": "COMPLETED"}


@pytest.mark.parametrize(
    ("more", "fact"),
    [
        ({"time": "2026-01-02T03:04:05.678Z"}, BOTH),
        ({"time": "2026-01-02T03:04:05.678Z"}, Fact.TAGS),
        ({"time": LATER, "size": 5}, BOTH),
    ],
    ids=["put later", "put later, only its tags", "of another size"],
)
def test_an_object_that_was_put_after_a_read_lends_it_nothing(
    bucket: "S3Client", more: dict[str, Any], fact: Fact
) -> None:
    """The record had the size, the ETag and the tags of an object that had not been read."""
    put(bucket, "a", b"123", Tagging="class=new")
    read = event("a", name="s3:ObjectAccessed:Get", sequencer="", dialect="cloudtrail", **more)
    assert look(objects(bucket), [(read, fact)]) == [read]
