"""A bucket of somebody else, attached and detached from the command line while all runs."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.arrivals import posted
from tests.e2e.system import System


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
    assert changed(system, "bucket", "detach", bucket, "--via", "sqs")
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
