"""What S3 gives to EventBridge, and EventBridge to the ingress queue."""

import json
from typing import Any

import pytest

from bucketcast import sources
from bucketcast.errors import BadEvent
from bucketcast.event import Event
from tests.unit.samples import RECORDED, message, record

CREATED: dict[str, Any] = json.loads((RECORDED / "eventbridge/object-created.json").read_text())


def only(envelope: dict[str, Any]) -> Event:
    (event,) = sources.events(json.dumps(envelope))
    return event


def test_key_is_read_without_decoding() -> None:
    event = only(CREATED)
    assert (event.name, event.bucket) == ("s3:ObjectCreated:Put", "uploads")
    assert event.key == "my+report 1%2F.txt"
    assert event.time == "2026-01-02T03:04:05.000Z"
    assert (event.size, event.etag) == (5, "b57f9512698f4b09e608f4f2a65852e5")
    assert event.version_id == "IYV3p45BT0ac8hjHg1houSdS1a.Mro8e"
    assert (event.region, event.principal) == ("eu-central-1", "123456789012")
    assert json.loads(bytes(event.record)) == CREATED


def test_event_has_the_id_of_s3s_own_notification() -> None:
    """While a bucket has two transports both arrive: receivers deduplicate by the id."""
    own = record("my%2Breport+1%252F.txt", eventTime="2026-01-02T03:04:05.678Z")
    own["s3"]["object"]["versionId"] = CREATED["detail"]["object"]["version-id"]
    own["responseElements"] = {"x-amz-request-id": CREATED["detail"]["request-id"]}
    (event,) = sources.events(message(own))
    assert event.id == only(CREATED).id


@pytest.mark.parametrize(
    ("kind", "detail", "name"),
    [
        ("Object Created", {"reason": "POST Object"}, "s3:ObjectCreated:Post"),
        ("Object Created", {"reason": "CopyObject"}, "s3:ObjectCreated:Copy"),
        (
            "Object Created",
            {"reason": "CompleteMultipartUpload"},
            "s3:ObjectCreated:CompleteMultipartUpload",
        ),
        (
            "Object Deleted",
            {"reason": "DeleteObject", "deletion-type": "Permanently Deleted"},
            "s3:ObjectRemoved:Delete",
        ),
        (
            "Object Deleted",
            {"reason": "Lifecycle Expiration", "deletion-type": "Delete Marker Created"},
            "s3:ObjectRemoved:DeleteMarkerCreated",
        ),
        ("Object Created", {"reason": "Of Next Year"}, "s3:ObjectCreated:OfNextYear"),
        ("Object Deleted", {"deletion-type": "Of Next Year"}, "s3:ObjectRemoved:OfNextYear"),
        ("Object Restore Initiated", {"reason": ""}, "s3:ObjectRestore:Post"),
        ("Object Storage Class Changed", {"reason": ""}, "s3:ObjectTransition:Complete"),
        ("Object Tags Added", {"reason": ""}, "s3:ObjectCreated:PutTagging"),
        ("Object Annotation Created", {"reason": "PutObjectAnnotation"}, "s3:ObjectAnnotation:Put"),
    ],
)
def test_names(kind: str, detail: dict[str, str], name: str) -> None:
    envelope = {**CREATED, "detail-type": kind, "detail": {**CREATED["detail"], **detail}}
    assert only(envelope).name == name


@pytest.mark.parametrize("kind", ["Object Of Next Year", "Async Copy Completion"])
def test_a_type_that_s3_adds_later_is_logged_once_and_no_dead_letter(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    added = {**CREATED, "detail-type": kind, "detail": {"bucket": {"name": "uploads"}}}
    for _ in range(2):
        assert sources.events(json.dumps(added)) == []
    assert [kind in message for message in caplog.messages] == [True]


def test_broken_event_is_refused_with_the_field() -> None:
    detail = {**CREATED["detail"], "object": {"key": 7}}
    with pytest.raises(BadEvent, match=r"broken EventBridge event: .*\$\.detail\.object\.key"):
        only({**CREATED, "detail": detail})


def test_event_of_another_service_is_refused() -> None:
    with pytest.raises(BadEvent, match="no known event"):
        only({**CREATED, "source": "aws.ec2"})
