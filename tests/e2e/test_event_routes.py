"""Each operation once under its name, by both transports; and what the local AWS cannot send.

It tells nobody of tagging, logs no data events and lets nobody put events of `aws.s3` on its bus:
those come from recorded bodies, written to the ingress queue as S3 and EventBridge would.
"""

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
ACCESS = {
    "get-object": "s3:ObjectAccessed:Get",
    "head-object": "s3:ObjectAccessed:Head",
    "get-object-retention": "s3:ObjectAccessed:GetRetention",
    "get-object-legal-hold": "s3:ObjectAccessed:GetLegalHold",
    "get-object-attributes": "s3:ObjectAccessed:Attributes",
    "put-object-legal-hold": "s3:ObjectCreated:PutLegalHold",
}


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


@pytest.mark.parametrize("via", ["sqs", "eventbridge"])
def test_operations_arrive_once_by_sqs_and_eventbridge(
    system: System, bucket: str, via: str
) -> None:
    assert system.bucketcast("bucket", "attach", bucket, "--via", via).code == 0
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


def test_recorded_tagging_arrives_by_sqs_and_eventbridge(system: System, bucket: str) -> None:
    bodies = []
    for name in ("tagging-put", "tagging-delete"):
        body = json.loads((RECORDED / "s3" / f"{name}.json").read_text())
        what = body["Records"][0]["s3"]
        what["bucket"]["name"], what["object"]["key"] = bucket, "sqs.jpg"
        bodies.append(json.dumps(body))
    for kind in ("Object Tags Added", "Object Tags Deleted"):
        body = json.loads((RECORDED / "eventbridge" / "object-created.json").read_text())
        detail = body["detail"]
        del detail["reason"], detail["object"]["sequencer"]
        detail["bucket"]["name"], detail["object"]["key"] = bucket, "eventbridge.jpg"
        bodies.append(json.dumps(body | {"detail-type": kind}))
    system.send(system.ingress, bodies)
    until_arrived(
        system,
        bucket,
        [
            (f"s3:ObjectCreated:{what}Tagging", f"{transport}.jpg")
            for what in ("Put", "Delete")
            for transport in ("sqs", "eventbridge")
        ],
    )


def test_recorded_reads_arrive_and_failed_ones_do_not(system: System, bucket: str) -> None:
    bodies = []
    for name in (*ACCESS, "get-object-denied", "put-object"):
        body = json.loads((RECORDED / "cloudtrail" / f"{name}.json").read_text())
        body["detail"]["requestParameters"] |= {"bucketName": bucket, "key": f"{name}+1%2F.jpg"}
        bodies.append(json.dumps(body))
    system.send(system.ingress, bodies)
    until_arrived(system, bucket, [(name, f"{call}+1%2F.jpg") for call, name in ACCESS.items()])


def test_trail_logs_only_the_calls_that_rules_need(system: System, bucket: str) -> None:
    trail = f"trail-{bucket}"
    cloudtrail = system.client("cloudtrail")
    system.s3.create_bucket(Bucket=f"log-{bucket}")
    cloudtrail.create_trail(Name=trail, S3BucketName=f"log-{bucket}")

    def selected() -> list[Any]:
        found = cloudtrail.get_event_selectors(TrailName=trail)["AdvancedEventSelectors"]
        return [each for each in found if bucket in each["Name"]]

    ran = system.bucketcast("bucket", "attach", bucket, "--access-events", "--trail", trail)
    assert ran.code == 0, ran.err
    assert "$1.00 per million" in ran.out
    (own,) = selected()
    fields = {each["Field"]: each for each in own["FieldSelectors"]}
    assert {"GetObject", "HeadObject"} <= set(fields["eventName"]["Equals"])
    assert fields["resources.ARN"]["StartsWith"] == [f"arn:aws:s3:::{bucket}/"]
    (status,) = system.bucketcast("bucket", "ls", bucket, "--json").document["buckets"]
    assert status["access_events"]["as_asked"] is True
    assert system.bucketcast("event", "rm", bucket, "--yes").code == 0
    assert selected() == []
    assert system.bucketcast("bucket", "detach", bucket).code == 0
