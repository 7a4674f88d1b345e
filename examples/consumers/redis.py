"""Print what the Redis target writes, as it comes: time, name, bucket/key, size in bytes.

    pip install redis
    python examples/consumers/redis.py redis://localhost:6379 bucketevents

A hash (format `namespace`), the objects of the bucket, is printed once; a list (`access`) is read
from its start and then followed. If the key does not exist yet, it waits for it. Nothing is removed
from the list: a consumer that must process each event once would use BLMOVE. A password is in the
URL or in REDISCLI_AUTH.
"""

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

# Python looks for modules beside a script first, and this script has the client's name.
OWN = Path(__file__).resolve().parent
sys.path = [folder for folder in sys.path if Path(folder).resolve() != OWN]
import redis  # noqa: E402


def objects(client: redis.Redis, key: str) -> Iterator[str]:
    """Yield a line for each object of the mirror."""
    for _, value in client.hscan_iter(key):
        yield line(json.loads(value)["Records"][0])


def events(client: redis.Redis, key: str) -> Iterator[str]:
    """Yield a line for each event of the log, forever."""
    seen = 0
    while True:
        items = client.lrange(key, seen, seen + 999)
        for _, data in map(json.loads, items):
            yield line(data["Records"][0])
        seen += len(items)
        if not items:
            time.sleep(0.2)


def line(record: dict[str, Any]) -> str:
    """Format one event. A key in a record is URL-encoded; a delete has no size."""
    s3 = record["s3"]
    key = unquote_plus(s3["object"]["key"])
    size = s3["object"].get("size", "-")
    name, at = record["eventName"], record["eventTime"]
    return f"{at:<24}  {name:<40}  {s3['bucket']['name']}/{key}  {size}"


def main() -> None:
    """Print until interrupted, or until the whole hash is printed."""
    parser = argparse.ArgumentParser(description="Print what the Redis target writes.")
    parser.add_argument("url", help="such as redis://localhost:6379, or rediss:// with TLS")
    parser.add_argument("key", help="the target's key")
    options = parser.parse_args()
    password = {"password": p} if (p := os.environ.get("REDISCLI_AUTH")) else {}
    try:
        client = redis.Redis.from_url(options.url, decode_responses=True, **password)
        if client.type(options.key) == "none":
            print(f"waiting for {options.key}", file=sys.stderr, flush=True)
        while (kind := client.type(options.key)) == "none":
            time.sleep(0.2)
        lines = objects if kind == "hash" else events
        for each in lines(client, options.key):
            print(each, flush=True)
    except (redis.RedisError, ValueError) as error:
        sys.exit(f"cannot read {options.key}: {error}")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
