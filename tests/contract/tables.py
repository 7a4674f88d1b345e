"""Events for the tests of tables: short, of the bucket b, in order of their milliseconds."""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from bucketcast.errors import Retryable
from bucketcast.event import Event
from bucketcast.targets.base.tables import LOCK_SECONDS, TableTarget
from tests.contract.case import DAY
from tests.contract.oracle import Row

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


def unwritten(
    mirror: TableTarget[Any],
    name: str,
    lock: AbstractContextManager[Any],
    received: Callable[[], Mapping[str, Row]],
) -> list[str]:
    """Send a hundred events of this name while rows are locked; return the keys they left as is."""
    keys = [f"k{number:02}" for number in range(100)]
    # A server deletes a large part of a small table by reading all of it, locked rows too.
    assert mirror.send([put(f"other {number}", 3) for number in range(1_000)]) == {}
    assert mirror.send([put(key, 1) for key in keys]) == {}
    batch = [event(name, key, 2) for key in keys]
    with lock:
        began = time.monotonic()
        failures = mirror.send(batch)
        assert time.monotonic() - began < 2 * LOCK_SECONDS
        left = [key for key, row in received().items() if row.sequencer == "1"]
    assert {type(error) for error in failures.values()} == {Retryable}
    assert {str(error) for error in failures.values()} == {
        "another session has locked its row for 3 s"
    }
    assert [f"b/{keys[index]}" for index in sorted(failures)] == sorted(left)
    assert mirror.send([batch[index] for index in failures]) == {}
    return sorted(left)
