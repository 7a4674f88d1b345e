"""Print what the AMQP target publishes, as it comes: time, name, bucket/key, size in bytes.

    pip install pika
    AMQP_URL=amqp://myuser:mypassword@localhost:5672 python examples/consumers/amqp.py bucketevents

It declares the exchange as the target does, whichever comes first: `--type` and `--durable` must be
the target's `exchange_type` and `durable`.

Its queue is deleted when it ends. A consumer that must not miss events while it is down would bind
a durable, named queue.
"""

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote_plus

import pika
from pika.exceptions import AMQPError

LOCAL = "amqp://guest:guest@localhost:5672"


def events(channel: Any, options: argparse.Namespace) -> Iterator[str]:
    """Yield a line for each event, forever."""
    channel.exchange_declare(options.exchange, options.type, durable=options.durable)
    queue = channel.queue_declare("", exclusive=True).method.queue
    channel.queue_bind(queue, options.exchange, options.routing_key)
    yield f"waiting for events of {options.exchange}"
    for method, _, body in channel.consume(queue):
        yield line(json.loads(body)["Records"][0])
        channel.basic_ack(method.delivery_tag)  # only now: the line is out


def line(record: dict[str, Any]) -> str:
    """Format one event. A key in a record is URL-encoded; a delete has no size."""
    s3 = record["s3"]
    key = unquote_plus(s3["object"]["key"])
    size = s3["object"].get("size", "-")
    name, at = record["eventName"], record["eventTime"]
    return f"{at:<24}  {name:<40}  {s3['bucket']['name']}/{key}  {size}"


def main() -> None:
    """Wait for events until interrupted."""
    parser = argparse.ArgumentParser(description="Print what the AMQP target publishes.")
    parser.add_argument("exchange", help="the target's exchange; declared if it does not exist")
    parser.add_argument("--type", default="fanout", help="the target's exchange_type (%(default)s)")
    parser.add_argument("--durable", action="store_true", help="if the target says durable = on")
    parser.add_argument("--routing-key", default="#", help="which events (%(default)s)")
    options = parser.parse_args()
    try:
        with pika.BlockingConnection(
            pika.URLParameters(os.environ.get("AMQP_URL", LOCAL))
        ) as connection:
            for each in events(connection.channel(), options):
                print(each, flush=True)
    except (AMQPError, ValueError) as error:
        sys.exit(f"cannot read {options.exchange}: {error!r}")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
