"""A thousand topics, each with a notification: how long the first and the last of each call take.

Needs a running `make up`, whose `.local/env` is exported. Prints the median milliseconds of the
calls of each tenth. Run: `python -m benchmarks.topics [NUMBER] [--persistent]`.
"""

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.gateway_client import client

BUCKET = "topics-benchmark"
NUMBER = 1_000
PARTS = 10


def main() -> None:
    numbers = [int(each) for each in sys.argv[1:] if each.isdecimal()]
    names = [f"bench-{number:05}" for number in range(numbers[0] if numbers else NUMBER)]
    attributes = {"push-endpoint": "http://127.0.0.1:9/"}
    if "--persistent" in sys.argv:
        attributes["persistent"] = "true"
    sns, s3 = (
        client(service, signature_version="s3v4", read_timeout=120) for service in ("sns", "s3")
    )
    arns: list[str] = []

    def make(name: str) -> None:
        arns.append(sns.create_topic(Name=name, Attributes=attributes)["TopicArn"])

    report("CreateTopic", names, make)
    report("GetTopicAttributes", arns, lambda arn: sns.get_topic_attributes(TopicArn=arn))
    began = time.perf_counter()
    pages = list(sns.get_paginator("list_topics").paginate())
    listed = sum(len(page["Topics"]) for page in pages)
    took = time.perf_counter() - began
    print(f"ListTopics: {listed:,} topics in {len(pages)} pages, {took * 1000:,.0f} ms", flush=True)
    s3.create_bucket(Bucket=BUCKET)
    report("PutBucketNotificationConfiguration", arns, lambda arn: bind(s3, arn))
    began = time.perf_counter()
    bound = s3.get_bucket_notification_configuration(Bucket=BUCKET)["TopicConfigurations"]
    took = time.perf_counter() - began
    print(f"GetBucketNotificationConfiguration: {len(bound):,}, {took * 1000:,.0f} ms", flush=True)
    s3.put_bucket_notification_configuration(Bucket=BUCKET, NotificationConfiguration={})
    report("DeleteTopic", arns, lambda arn: sns.delete_topic(TopicArn=arn))


def bind(s3: Any, arn: str) -> None:
    """Let a topic have the keys below its name."""
    name = arn.rpartition(":")[2]
    below = {"Key": {"FilterRules": [{"Name": "prefix", "Value": f"{name}/"}]}}
    one = {"Id": name, "TopicArn": arn, "Events": ["s3:ObjectCreated:*"], "Filter": below}
    s3.put_bucket_notification_configuration(
        Bucket=BUCKET, NotificationConfiguration={"TopicConfigurations": [one]}
    )


def report(what: str, parameters: list[str], call: Callable[[str], object]) -> None:
    """Call with each, and print the median of each tenth."""
    seconds = []
    for each in parameters:
        began = time.perf_counter()
        call(each)
        seconds.append(time.perf_counter() - began)
    size = max(1, len(parameters) // PARTS)
    parts = [seconds[start : start + size] for start in range(0, len(seconds), size)]
    medians = " ".join(f"{statistics.median(part) * 1000:,.0f}" for part in parts)
    print(f"{what}: {medians} ms", flush=True)


if __name__ == "__main__":
    main()
