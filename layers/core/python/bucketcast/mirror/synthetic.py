"""Events of what a bucket shows, made up from what is known of its objects: MinIO's records.

A mirror of a bucket takes an event if its order, `(sequencer, time)`, is newer than what it knows.
So the order decides what a made-up event may do:

* `OLDEST`, whose digits are all 0, is older than any sequencer that a source ever sent. Such an
  event fills a row that nobody wrote and changes none that a real event wrote or removed.
* `just_after(order)` is newer than the event that has this order, and loses against any other that
  is: sequencers grow from one event of a key to the next.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from bucketcast.event import AGENT, Event
from bucketcast.mirror.registers import UNVERSIONED
from bucketcast.shapes.minio import encode, record
from bucketcast.sources import minio

OLDEST: Final = "0" * 16
"""The sequencer of what loses against any real event, as long as MinIO's are."""
EPOCH: Final = "1970-01-01T00:00:00.000Z"
"""The time of an object whose source names none."""
NOTHING_MORE: Final[Mapping[str, Any]] = MappingProxyType({})
_in_parts = re.compile(r".*-[0-9]+").fullmatch


class Object(NamedTuple):
    """An object that a bucket shows; `modified` is Unix ms, the rest as in `LISTING`."""

    bucket: str
    key: str
    version_id: str | None = None
    size: int | None = None
    etag: str | None = None
    modified: int | None = None
    storage_class: str | None = None


def created(
    found: Object,
    *,
    sequencer: str = OLDEST,
    time: str = "",
    by: str = "backfill",
    facts: Mapping[str, Any] = NOTHING_MORE,
) -> Event:
    """Return the event that the object was put, at its own time or at another one.

    `by` is the reporter, and `facts` are further known fields of the event.
    """
    etag = found.etag or ""
    how = "CompleteMultipartUpload" if _in_parts(etag) else "Put"
    event = _recorded(
        Event(
            name=f"s3:ObjectCreated:{how}",
            bucket=found.bucket,
            key=found.key,
            time=time or _text(found.modified),
            sequencer=sequencer,
            record=msgspec.Raw(),
            # MinIO's word for a size that it cannot tell; without one it would be 0.
            size=-1 if found.size is None else found.size,
            etag=etag,
            version_id=None if found.version_id == UNVERSIONED else found.version_id,
            user_agent=AGENT + by,
            **facts,
        )
    )
    # Conditions ask for these; MinIO's record has no place for the one and no 0 for the other.
    return msgspec.structs.replace(
        event, size=found.size, storage_class=found.storage_class, tags=facts.get("tags")
    )


def removed(bucket: str, key: str, *, sequencer: str, time: str) -> Event:
    """Return the event that the bucket shows no object at the key any more, of any version."""
    return _recorded(
        Event(
            name="s3:ObjectRemoved:Delete",
            bucket=bucket,
            key=key,
            time=time,
            sequencer=sequencer,
            record=msgspec.Raw(),
            user_agent=AGENT + "backfill",
        )
    )


def just_after(order: tuple[str, str]) -> tuple[str, str]:
    """Return an order key just after a row's, before any newer real event's of its key."""
    sequencer, time = order
    at = datetime.fromisoformat(time or EPOCH) + timedelta(milliseconds=1)
    return sequencer, _iso(at)


def _recorded(event: Event) -> Event:
    """Return the event as it is read from the record that MinIO would have made of it."""
    return minio.parse(msgspec.Raw(encode(record(event))))


def _text(modified: int | None) -> str:
    if modified is None:
        return EPOCH
    return _iso(datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=modified))


def _iso(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"
