"""Events that come otherwise than from S3 to the queue: by SNS, and from another account."""

import json
from uuid import uuid4

import pytest

from tests.e2e.arrivals import posted
from tests.e2e.deployment import ROOT, SNS_TOPIC
from tests.e2e.system import System

RECORDED = ROOT / "tests" / "events"


@pytest.fixture
def bucket(system: System) -> str:
    """A new bucket with a rule, which is not attached."""
    name = f"every-{uuid4().hex[:8]}"
    system.s3.create_bucket(Bucket=name)
    system.add_rule(name, "webhook.primary")
    return name


def assert_put_arrives_once(system: System, bucket: str, key: str) -> None:
    def seen() -> list[tuple[str, str]]:
        found = posted(system.consumers.webhook, f"{bucket}/")
        return [(each.name, each.key) for each in found]

    system.until("the put", seen, bool)
    system.until_settled()
    assert seen() == [("s3:ObjectCreated:Put", f"{bucket}/{key}")]


def test_events_arrive_through_an_sns_topic(system: System, bucket: str) -> None:
    """The deploy has subscribed the ingress queue; S3 would publish the same body."""
    body = json.loads((RECORDED / "s3" / "put-2.1.json").read_text())
    s3 = body["Records"][0]["s3"]
    s3["bucket"]["name"] = bucket
    system.client("sns").publish(TopicArn=SNS_TOPIC, Message=json.dumps(body))
    assert_put_arrives_once(system, bucket, s3["object"]["key"])


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
        assert_put_arrives_once(system, bucket, "theirs.jpg")
    finally:
        events.remove_targets(Rule=bucket, Ids=["bucketcast"])
        events.delete_rule(Name=bucket)
