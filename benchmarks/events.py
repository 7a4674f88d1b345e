"""The events that all benchmarks use: S3 records of about 0.8 kB, as S3 sends them."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from bucketcast.event import Event
from bucketcast.sources import s3

BUCKET = "uploads"
DAY = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%d}"
"""The day of all events: mirrors refuse what happened long ago."""


def record(number: int, *, key: str = "", name: str = "ObjectCreated:Put") -> dict[str, object]:
    """Return an S3 record with key, sequencer and request id made from `number`."""
    return {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": "us-east-1",
        "eventTime": f"{DAY}T03:{number // 60_000 % 60:02}:{number // 1_000 % 60:02}"
        f".{number % 1_000:03}Z",
        "eventName": name,
        "userIdentity": {"principalId": "AWS:AIDAJDPLRKLG7UEXAMPLE:uploader"},
        "requestParameters": {"sourceIPAddress": "10.1.2.3"},
        "responseElements": {
            "x-amz-request-id": f"C3D13FE5{number:08X}",
            "x-amz-id-2": "FMyUVURIY8/IgAtTv8xRjskZQpcIZ9KG4V5Wp6S7S/JRWeUWerMUE5JgHvANOjpD",
        },
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": "bucketcast",
            "bucket": {
                "name": BUCKET,
                "ownerIdentity": {"principalId": "A3NL1KOZZKExample"},
                "arn": f"arn:aws:s3:::{BUCKET}",
            },
            "object": {
                "key": key or f"photos/2026/{number:08}.jpg",
                "size": 1024 + number,
                "eTag": "d41d8cd98f00b204e9800998ecf8427e",
                "sequencer": f"{0x55AED6DCD90281E5 + number:018X}",
            },
        },
    }


def bodies(count: int, **options: str) -> Iterator[str]:
    """Yield messages of the ingress queue, one record each."""
    for number in range(count):
        yield _dump({"Records": [record(number, **options)]})


def events(count: int, start: int = 0) -> list[Event]:
    """Return so many such records as parsed events."""
    records = (_dump(record(start + number)) for number in range(count))
    return [s3.parse(msgspec.Raw(raw)) for raw in records]


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
