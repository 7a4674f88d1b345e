"""Events for the tests of tables: short, of the bucket b, in order of their milliseconds."""

from typing import Any

import msgspec

from bucketcast.event import Event
from tests.contract.case import DAY

PUT = "s3:ObjectCreated:Put"
DELETE = "s3:ObjectRemoved:Delete"
TAGGING = "s3:ObjectCreated:PutTagging"

OF_MINIO = {
    "eventName": PUT,
    "eventTime": "2016-10-12T21:18:20Z",
    "s3": {"object": {"key": "a", "size": 1, "sequencer": "147CE57C70B31931"}},
}
"""A record as an early MinIO wrote it."""


def event(name: str, key: str, at: int, *, sequencer: int | None = None, **more: Any) -> Event:
    """Make an event `at` so many ms; its sequencer is that number too, or none if 0 is given."""
    stamp = f"{DAY}T03:{at // 60_000:02d}:{at // 1000 % 60:02d}.{at % 1000:03d}Z"
    order = at if sequencer is None else sequencer
    text = f"{order:X}" if order else ""
    return Event(name, more.pop("bucket", "b"), key, stamp, text, msgspec.Raw(b"{}"), **more)


def put(key: str, at: int, **more: Any) -> Event:
    return event(PUT, key, at, **{"size": at, "etag": f"e{at}", **more})


def bad_time(key: str) -> Event:
    """Make an event whose time no database accepts."""
    return msgspec.structs.replace(put(key, 2), time="2099-99-99T00:00:00.000Z")
