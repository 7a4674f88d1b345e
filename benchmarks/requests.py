"""SQS calls on a target's queue per 1,000 events, by how many events ingest gets at once.

Sends are counted as the real ingest handler makes them (against moto). What Lambda's event source
adds is computed from its rules: it receives and deletes up to 10 messages a call; so does dispatch,
which keeps them in flight, a call every 5 s and so one for a batch that is quicker. The local AWS
gives a function 10 messages at most, so the throughput profile is fed here as Lambda would feed
it. Run: `python -m benchmarks.requests`.
"""

import contextlib
import io
import json
import math
import os
import time
from collections import Counter
from typing import Any

import boto3
from moto import mock_aws

from benchmarks import events as made
from bucketcast.aws.rules import Rules
from bucketcast.cost import calls
from bucketcast.rules import Rule
from bucketcast.settings.environment import DeployedTargets, ObjectFacts

EVENTS = 1_000
LOADS = (
    ("one event now and then", 1),
    ("latency profile, half loaded", 5),
    ("latency profile, under load", 10),
    ("throughput profile, 100 events/s", 100),
    ("throughput profile, under load", 1_000),
)
ENVIRON = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
    "POWERTOOLS_SERVICE_NAME": "benchmark",
    "BUCKETCAST_RULES_TABLE": "rules",
    "BUCKETCAST_SYNC_EVENTS": "off",
    "BUCKETCAST_OBJECT_FACTS": ObjectFacts().to_text(),
    "BUCKETCAST_TARGETS": DeployedTargets.of(()).to_text(),
}
KEYS: Any = [
    {"AttributeName": "bucket", "KeyType": "HASH"},
    {"AttributeName": "rule", "KeyType": "RANGE"},
]
SYSTEM = {"SentTimestamp": str(round(time.time() * 1_000)), "ApproximateReceiveCount": "1"}
TYPES: Any = [{"AttributeName": name, "AttributeType": "S"} for name in ("bucket", "rule")]


@mock_aws
def main() -> None:
    deploy()
    print(
        f"{'load':<34} {'events at once':>14} {'send':>6} {'receive':>8} {'keep':>5} "
        f"{'delete':>7} {'sum':>6}"
    )
    for name, at_once in LOADS:
        sends, messages = sent(at_once)
        polls = math.ceil(messages / calls.received_together(at_once))
        total = sends + 3 * polls
        print(f"{name:<34} {at_once:>14} {sends:>6} {polls:>8} {polls:>5} {polls:>7} {total:>6}")


def deploy() -> None:
    """Create what ingest needs and set its environment."""
    os.environ |= ENVIRON
    sqs, dynamodb = boto3.client("sqs"), boto3.client("dynamodb")
    queue = sqs.create_queue(QueueName="Bucketcast-webhook-primary")["QueueUrl"]
    dead = sqs.create_queue(QueueName="Bucketcast-ingress-dead")["QueueUrl"]
    dynamodb.create_table(
        TableName="rules", KeySchema=KEYS, AttributeDefinitions=TYPES, BillingMode="PAY_PER_REQUEST"
    )
    Rules("rules", dynamodb).add(
        Rule(
            bucket=made.BUCKET, arn="arn:minio:sqs::primary:webhook", events=("s3:ObjectCreated:*",)
        )
    )
    os.environ |= {
        "BUCKETCAST_QUEUE_PREFIX": queue.removesuffix("webhook-primary"),
        "BUCKETCAST_INGRESS_DEAD_QUEUE_URL": dead,
    }


def sent(at_once: int) -> tuple[int, int]:
    """Calls that ingest makes for all events, and the messages that they bring."""
    from functions.ingest import handler as ingest  # noqa: PLC0415 - it reads the environment

    counted: Counter[str] = Counter()

    def count(params: Any, **_: object) -> None:
        counted["send"] += 1
        counted["messages"] += len(json.loads(params["body"])["Entries"])

    sqs_session = boto3.DEFAULT_SESSION or boto3.Session()
    sqs_session.events.register("before-call.sqs.SendMessageBatch", count)
    handler = ingest.build(os.environ)
    records = [
        {"messageId": str(index), "receiptHandle": str(index), "body": body, "attributes": SYSTEM}
        for index, body in enumerate(made.bodies(EVENTS))
    ]
    for start in range(0, EVENTS, at_once):
        with contextlib.redirect_stdout(io.StringIO()):  # its metrics
            answer = handler({"Records": records[start : start + at_once]}, None)
        if answer["batchItemFailures"]:
            raise RuntimeError("ingest did not pass everything on")
    sqs_session.events.unregister("before-call.sqs.SendMessageBatch", count)
    return counted["send"], counted["messages"]


if __name__ == "__main__":
    main()
