"""What MinIO, SNS and CloudTrail send, as events."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote_plus

import pytest

from bucketcast import shapes, sources
from bucketcast.delivery.envelope import Delivery, pack, unpack
from bucketcast.errors import BadEvent
from bucketcast.event import Event
from bucketcast.shapes.cloudevents import in_header
from tests.unit.samples import RECORDED, recorded


def only(name: str) -> Event:
    (event,) = sources.events(recorded(name))
    return event


def assert_fields(event: Event, **expected: Any) -> None:
    assert {field: getattr(event, field) for field in expected} == expected


def test_minios_put_is_read_with_its_metadata() -> None:
    event = only("minio/object-created-put-user-metadata")
    assert_fields(
        event,
        name="s3:ObjectCreated:Put",
        bucket="plain",
        key="docs/meta.txt",
        time="2026-11-21T12:16:47.174Z",
        size=11,
        etag="5eb63bbbe01eeed093cb22bb8f5acdc3",
        principal="peeruser",
        source_ip="127.0.0.1",
        request_id="18EA0E8E9EB03D52",
        content_type="text/plain",
    )
    assert event.metadata == {
        "x-amz-meta-color": "Blue",
        "x-amz-meta-owner-team": "data & <ops>",
        "x-amz-meta-utf8": "=?UTF-8?B?w6k=?=",
    }
    assert event.user_agent.startswith("Boto3/")
    assert json.loads(bytes(event.record))["eventSource"] == "minio:s3"


def minios(key: str) -> dict[str, Any]:
    """A record of MinIO's with this text for its key."""
    record: dict[str, Any] = json.loads(recorded("minio/object-created-put"))["Records"][0]
    record["s3"]["object"] |= {"key": key, "size": 1}
    return record


@pytest.mark.parametrize("keys", [["a b"], ["a b/c", "d+e%2F"]])
def test_keys_of_minios_records_are_unescaped(keys: list[str]) -> None:
    """As our own scanner sends them, one or several together."""
    body = json.dumps({"Records": [minios(quote_plus(key, safe="")) for key in keys]})
    assert [event.key for event in sources.events(body)] == keys


def test_minios_ipv6_address_is_read_without_its_brackets() -> None:
    document = json.loads(recorded("minio/object-created-put"))
    document["Records"][0]["requestParameters"]["sourceIPAddress"] = "[2001:db8::1]"
    (event,) = sources.events(json.dumps(document))
    assert event.source_ip == "2001:db8::1"


@pytest.mark.parametrize(
    ("name", "size"),
    [("ObjectCreated:Put", 0), ("ObjectRemoved:Delete", None), ("ObjectRemoved:NoOP", None)],
)
def test_missing_size_in_minios_record_is_0_if_there_is_an_object(
    name: str, size: int | None
) -> None:
    record = minios("a") | {"eventName": f"s3:{name}"}
    del record["s3"]["object"]["size"]
    (event,) = sources.events(json.dumps({"Records": [record]}))
    assert event.size == size


def test_a_notification_of_sns_is_unwrapped() -> None:
    (wrapped,), (bare,) = map(sources.events, map(recorded, ("sns/notification", "s3/put-2.1")))
    assert json.loads(bytes(wrapped.record)) == json.loads(bytes(bare.record))
    assert wrapped.id == bare.id


def test_eventbridge_through_sns_is_unwrapped() -> None:
    wrapped = json.loads(recorded("sns/notification"))
    wrapped["Message"] = recorded("eventbridge/object-created")
    (event,) = sources.events(json.dumps(wrapped))
    assert event.key == "my+report 1%2F.txt"


def test_sns_message_about_the_subscription_is_refused() -> None:
    with pytest.raises(BadEvent, match="SubscriptionConfirmation"):
        sources.events(recorded("sns/subscription-confirmation"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("get-object", "s3:ObjectAccessed:Get"),
        ("head-object", "s3:ObjectAccessed:Head"),
        ("get-object-retention", "s3:ObjectAccessed:GetRetention"),
        ("get-object-legal-hold", "s3:ObjectAccessed:GetLegalHold"),
        ("get-object-attributes", "s3:ObjectAccessed:Attributes"),
        ("put-object-legal-hold", "s3:ObjectCreated:PutLegalHold"),
        ("put-object-retention", "s3:ObjectCreated:PutRetention"),
    ],
)
def test_cloudtrail_calls_become_events(name: str, expected: str) -> None:
    event = only(f"cloudtrail/{name}")
    assert_fields(
        event,
        name=expected,
        bucket="uploads",
        key="photos/a+b 1%2F.jpg",
        time="2026-01-02T03:04:05.000Z",
        sequencer="",
        size=None,
        principal="AROAEXAMPLEEXAMPLE123:reader",
        owner="111122223333",
        source_ip="192.0.2.7",
        request_id="TRAIL0REQUEST0ID",
        host_id="hostid123=",
        user_agent="aws-cli/2.31.0",
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [("create-bucket", "s3:BucketCreated:*"), ("delete-bucket", "s3:BucketRemoved:*")],
)
def test_created_and_removed_buckets_become_events(name: str, expected: str) -> None:
    assert_fields(only(f"cloudtrail/{name}"), name=expected, bucket="uploads", key="")


@pytest.mark.parametrize("name", ["get-object-denied", "put-object"])
def test_failed_calls_and_calls_that_s3_notifies_of_give_no_event(name: str) -> None:
    assert sources.events(recorded(f"cloudtrail/{name}")) == []


@pytest.mark.parametrize(
    "path", sorted((RECORDED / "hostile").iterdir()), ids=lambda path: path.stem
)
def test_odd_bodies_give_events_that_can_be_written_or_a_reason(path: Path) -> None:
    """Anything else that is raised fails here."""
    text = path.read_text(encoding="utf-8")
    with suppress(BadEvent):
        events = sources.events(text)
        assert all(event.bucket for event in events)
        for event in events:
            for shape in map(shapes.shape, get_args(shapes.Name)):
                shape.message(event)
                shape.value(event)
                for each in shape.attributes(event).values() if shape.attributes else ():
                    in_header(each)
        for packed in pack([Delivery("rule", event) for event in events]):
            unpack(packed.body)
