"""Print what the Kafka target writes, as it comes: time, name, bucket/key, size in bytes.

    pip install confluent-kafka
    python examples/consumers/kafka.py localhost:9092 bucketevents

It begins with the oldest message, as `kafkacat -C` does, and then waits for more. If the topic does
not exist yet, it waits for it. A SASL PLAIN login is in KAFKA_USERNAME and KAFKA_PASSWORD. The
header `event-id` is the same for every delivery of an event: a consumer that must not act twice
would remember those it has seen.
"""

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote_plus

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

NOT_READY = KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.LEADER_NOT_AVAILABLE
"""What brokers say of a topic that does not exist, or was just created."""


def connect(brokers: str) -> Consumer:
    """Return a consumer that sees every message and commits no offsets."""
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": os.environ.get("KAFKA_USERNAME"),
        "sasl.password": os.environ.get("KAFKA_PASSWORD"),
    }
    return Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": "none",
            "enable.auto.commit": False,
            **(login if "KAFKA_USERNAME" in os.environ else {}),
        }
    )


def events(consumer: Consumer, topic: str) -> Iterator[str]:
    """Yield a line for each event of the topic, forever."""
    found = consumer.list_topics(topic, timeout=10).topics[topic]
    if found.error and found.error.code() in NOT_READY:
        print(f"waiting for {topic}", file=sys.stderr, flush=True)
    while found.error and found.error.code() in NOT_READY:
        time.sleep(1)
        found = consumer.list_topics(topic, timeout=10).topics[topic]
    if found.error:
        raise KafkaException(found.error)
    consumer.assign([TopicPartition(topic, each, OFFSET_BEGINNING) for each in found.partitions])
    while True:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            raise KafkaException(message.error())
        yield line(json.loads(message.value() or b"")["Records"][0])


def line(record: dict[str, Any]) -> str:
    """Format one event. A key in a record is URL-encoded; a delete has no size."""
    s3 = record["s3"]
    key = unquote_plus(s3["object"]["key"])
    size = s3["object"].get("size", "-")
    name, at = record["eventName"], record["eventTime"]
    return f"{at:<24}  {name:<40}  {s3['bucket']['name']}/{key}  {size}"


def main() -> None:
    """Read until interrupted."""
    parser = argparse.ArgumentParser(description="Print what the Kafka target writes.")
    parser.add_argument("brokers", help="such as localhost:9092, several with commas")
    parser.add_argument("topic", help="the target's topic")
    options = parser.parse_args()
    consumer = connect(options.brokers)
    try:
        for each in events(consumer, options.topic):
            print(each, flush=True)
    except KafkaException as error:
        reason: KafkaError = error.args[0]
        sys.exit(f"cannot read {options.topic}: {reason.str()}")
    finally:
        consumer.close()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
