"""Events that come otherwise than from S3 to the queue: by SNS."""

import json
from uuid import uuid4

from tests.e2e.arrivals import posted
from tests.e2e.deployment import ROOT, SNS_TOPIC
from tests.e2e.system import System

RECORDED = ROOT / "tests" / "events"


def test_events_arrive_through_an_sns_topic(system: System) -> None:
    """The deploy has subscribed the ingress queue; S3 would publish the same body."""
    bucket = f"every-{uuid4().hex[:8]}"
    system.s3.create_bucket(Bucket=bucket)
    system.add_rule(bucket, "webhook.primary")
    body = json.loads((RECORDED / "s3" / "put-2.1.json").read_text())
    s3 = body["Records"][0]["s3"]
    s3["bucket"]["name"] = bucket
    system.client("sns").publish(TopicArn=SNS_TOPIC, Message=json.dumps(body))

    def seen() -> list[tuple[str, str]]:
        found = posted(system.consumers.webhook, f"{bucket}/")
        return [(each.name, each.key) for each in found]

    system.until("the put", seen, bool)
    system.until_settled()
    assert seen() == [("s3:ObjectCreated:Put", f"{bucket}/{s3['object']['key']}")]
