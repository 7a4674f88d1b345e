"""A bucket of somebody else, attached and detached from the command line while all runs."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.arrivals import posted
from tests.e2e.system import System

THEIRS: Any = {
    "Id": "theirs",
    "QueueArn": "arn:aws:sqs:us-east-1:000000000000:theirs",
    "Events": ["s3:ObjectCreated:*"],
    "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": "theirs/"}]}},
}


@pytest.fixture
def bucket(system: System) -> Iterator[str]:
    name = f"owned-{uuid4().hex[:8]}"
    system.s3.create_bucket(Bucket=name)
    yield name
    system.bucketcast("bucket", "detach", name)


def notifications(system: System, bucket: str) -> dict[str, Any]:
    found = system.s3.get_bucket_notification_configuration(Bucket=bucket)
    return {key: value for key, value in found.items() if key != "ResponseMetadata"}


def changed(system: System, *words: str) -> list[str]:
    ran = system.bucketcast(*words, "--json")
    assert ran.code == 0, ran.out + ran.err
    return list(ran.document["changed"])


def arrives_once(system: System, bucket: str, key: str) -> None:
    system.put(bucket, key)
    system.until(
        f"{key} at the webhook",
        lambda: posted(system.consumers.webhook, f"{bucket}/{key}"),
        lambda seen: len(seen) == 1,
    )


def test_attached_bucket_delivers_by_every_way(system: System, bucket: str) -> None:
    system.add_rule(bucket, "webhook.primary")
    assert changed(system, "bucket", "attach", bucket)
    arrives_once(system, bucket, "by-sqs.jpg")
    assert changed(system, "bucket", "attach", bucket, "--via", "eventbridge")
    assert "QueueConfigurations" not in notifications(system, bucket)
    arrives_once(system, bucket, "by-eventbridge.jpg")
    buckets = system.bucketcast("bucket", "ls", bucket, "--json").document["buckets"]
    assert (buckets[0]["via"], buckets[0]["rules"]) == ("eventbridge", 1)
    assert changed(system, "bucket", "detach", bucket)
    system.put(bucket, "later.jpg")
    assert changed(system, "bucket", "attach", bucket)
    arrives_once(system, bucket, "last.jpg")
    system.until_settled()
    keys = {each.key for each in posted(system.consumers.webhook, f"{bucket}/")}
    assert f"{bucket}/later.jpg" not in keys


def test_other_notifications_stay_byte_for_byte(system: System, bucket: str) -> None:
    own: Any = {"QueueConfigurations": [THEIRS]}
    system.s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration=own)
    before = json.dumps(notifications(system, bucket), sort_keys=True)
    refused = system.bucketcast("bucket", "attach", bucket, "--json")
    assert refused.code == 1
    assert "'theirs'" in refused.document["error"]
    assert json.dumps(notifications(system, bucket), sort_keys=True) == before
    assert changed(system, "bucket", "attach", bucket, "--via", "eventbridge")
    seen = notifications(system, bucket)
    assert seen.pop("EventBridgeConfiguration") == {}
    assert json.dumps(seen, sort_keys=True) == before
    (buckets,) = system.bucketcast("bucket", "ls", bucket, "--json").document["buckets"]
    assert (buckets["via"], len(buckets["others"])) == ("eventbridge", 1)
    assert "'theirs'" in buckets["others"][0]


def test_attached_prefix_delivers_beside_other_notifications(system: System, bucket: str) -> None:
    own: Any = {"QueueConfigurations": [THEIRS]}
    system.s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration=own)
    system.add_rule(bucket, "webhook.primary")
    assert changed(system, "bucket", "attach", bucket, "--event", "put", "--prefix", "ours/")
    system.put(bucket, "theirs/a.jpg")
    system.put(bucket, "neither/a.jpg")
    arrives_once(system, bucket, "ours/a.jpg")
    system.until_settled()
    assert [each.key for each in posted(system.consumers.webhook, f"{bucket}/")] == [
        f"{bucket}/ours/a.jpg"
    ]
    assert changed(system, "bucket", "detach", bucket)
    assert len(notifications(system, bucket)["QueueConfigurations"]) == 1
