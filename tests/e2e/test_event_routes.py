"""Events that come otherwise than from S3 to the queue: by EventBridge, SNS, another account."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.arrivals import posted
from tests.e2e.deployment import ROOT, SNS_TOPIC
from tests.e2e.system import System

RECORDED = ROOT / "tests" / "events"
PART = b"x" * (5 * 1024 * 1024)
EVENTS = "put,delete,get,s3:ObjectRestore:*"


@pytest.fixture
def bucket(system: System) -> Iterator[str]:
    """A new bucket with a rule that asks for all that these tests do."""
    name = f"every-{uuid4().hex[:8]}"
    system.s3.create_bucket(Bucket=name)
    system.add_rule(name, "webhook.primary", event=EVENTS)
    yield name
    system.bucketcast("bucket", "detach", name)


def until_arrived(system: System, bucket: str, wanted: list[tuple[str, str]]) -> None:
    """Wait for just these names and keys, each as often as it stands here."""
    here = Counter((name, f"{bucket}/{key}") for name, key in wanted)

    def seen() -> Counter[tuple[str, str]]:
        found = posted(system.consumers.webhook, f"{bucket}/")
        return Counter((each.name, each.key) for each in found)

    system.until(f"{len(wanted)} events", seen, lambda found: found.total() >= here.total())
    system.until_settled()
    assert seen() == here


def test_events_arrive_through_an_sns_topic(system: System, bucket: str) -> None:
    """The deploy has subscribed the ingress queue; S3 would publish the same body."""
    body = json.loads((RECORDED / "s3" / "put-2.1.json").read_text())
    s3 = body["Records"][0]["s3"]
    s3["bucket"]["name"] = bucket
    system.client("sns").publish(TopicArn=SNS_TOPIC, Message=json.dumps(body))
    until_arrived(system, bucket, [("s3:ObjectCreated:Put", s3["object"]["key"])])


def test_events_of_another_account_arrive_through_the_bus(system: System, bucket: str) -> None:
    """A rule of its default bus, as the owner of a bucket there would make it."""
    bus = system.outputs["EventBus"]
    events = system.client("events")
    events.put_rule(
        Name=bucket,
        EventPattern=json.dumps({"source": ["aws.s3"], "detail": {"bucket": {"name": [bucket]}}}),
    )
    events.put_targets(Rule=bucket, Targets=[{"Id": "bucketcast", "Arn": bus}])
    try:
        system.s3.put_bucket_notification_configuration(
            Bucket=bucket, NotificationConfiguration={"EventBridgeConfiguration": {}}
        )
        system.put(bucket, "theirs.jpg")
        until_arrived(system, bucket, [("s3:ObjectCreated:Put", "theirs.jpg")])
    finally:
        events.remove_targets(Rule=bucket, Ids=["bucketcast"])
        events.delete_rule(Name=bucket)


def test_operations_arrive_once_by_eventbridge(system: System, bucket: str) -> None:
    assert system.bucketcast("bucket", "attach", bucket, "--via", "eventbridge").code == 0
    s3: Any = system.s3
    system.put(bucket, "a.jpg")
    s3.copy_object(Bucket=bucket, Key="b.jpg", CopySource={"Bucket": bucket, "Key": "a.jpg"})
    upload = s3.create_multipart_upload(Bucket=bucket, Key="c.jpg")["UploadId"]
    parts = []
    for number in (1, 2):
        where = {"Bucket": bucket, "Key": "c.jpg", "UploadId": upload, "PartNumber": number}
        parts.append({"PartNumber": number, "ETag": s3.upload_part(**where, Body=PART)["ETag"]})
    s3.complete_multipart_upload(
        Bucket=bucket, Key="c.jpg", UploadId=upload, MultipartUpload={"Parts": parts}
    )
    s3.put_object(Bucket=bucket, Key="cold.jpg", Body=b"x", StorageClass="GLACIER")
    s3.restore_object(Bucket=bucket, Key="cold.jpg", RestoreRequest={"Days": 1})
    s3.delete_object(Bucket=bucket, Key="a.jpg")
    s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "b.jpg"}, {"Key": "c.jpg"}]})
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    version = s3.put_object(Bucket=bucket, Key="v.jpg", Body=b"x")["VersionId"]
    s3.delete_object(Bucket=bucket, Key="v.jpg")
    s3.delete_object(Bucket=bucket, Key="v.jpg", VersionId=version)
    created, removed = "s3:ObjectCreated", "s3:ObjectRemoved"
    until_arrived(
        system,
        bucket,
        [
            (f"{created}:Put", "a.jpg"),
            (f"{created}:Copy", "b.jpg"),
            (f"{created}:CompleteMultipartUpload", "c.jpg"),
            (f"{created}:Put", "cold.jpg"),
            ("s3:ObjectRestore:Post", "cold.jpg"),
            ("s3:ObjectRestore:Completed", "cold.jpg"),
            (f"{removed}:Delete", "a.jpg"),
            (f"{removed}:Delete", "b.jpg"),
            (f"{removed}:Delete", "c.jpg"),
            (f"{created}:Put", "v.jpg"),
            (f"{removed}:DeleteMarkerCreated", "v.jpg"),
            (f"{removed}:Delete", "v.jpg"),
        ],
    )
