"""Synthetic events, in MinIO's format, made from a listing of a bucket.

A mirror accepts an event if its order, `(sequencer, time)`, is newer than its state. So the order
decides the effect of a synthetic event:

* `OLDEST`, whose digits are all 0, is older than any sequencer of a source. Such an event fills a
  missing row and changes none that a real event wrote or removed.
* `just_after(order)` is newer than the event with this order and older than the key's next real
  event, as sequencers grow from one event of a key to the next.
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
"""A sequencer older than that of any real event, as long as MinIO's."""
EPOCH: Final = "1970-01-01T00:00:00.000Z"
"""The time of an object whose source has none."""
NOTHING_MORE: Final[Mapping[str, Any]] = MappingProxyType({})
_in_parts = re.compile(r".*-[0-9]+").fullmatch


class Object(NamedTuple):
    """An object or version in a listing; `modified` is Unix ms, the rest as in `LISTING`."""

    bucket: str
    key: str
    version_id: str | None = None
    size: int | None = None
    etag: str | None = None
    modified: int | None = None
    storage_class: str | None = None
    is_delete_marker: bool = False


def created(
    listed: Object,
    *,
    sequencer: str = OLDEST,
    time: str = "",
    by: str = "backfill",
    facts: Mapping[str, Any] = NOTHING_MORE,
) -> Event:
    """Return an event that the object was put, at its own time unless `time` is given.

    `by` is the reporter, and `facts` are further known fields of the event.
    """
    etag = listed.etag or ""
    operation = "CompleteMultipartUpload" if _in_parts(etag) else "Put"
    # MinIO's value for an unknown size; without it, the size would be read as 0.
    more = {"size": -1 if listed.size is None else listed.size, "etag": etag, **facts}
    event = _event(listed, f"s3:ObjectCreated:{operation}", sequencer, time, by, more)
    # Conditions need these, and MinIO's record cannot hold all of them.
    return msgspec.structs.replace(
        event,
        size=listed.size,
        storage_class=listed.storage_class,
        tags=facts.get("tags"),
        metadata=facts.get("metadata", event.metadata),
    )


def removed(
    listed: Object,
    *,
    sequencer: str = OLDEST,
    time: str = "",
    name: str = "s3:ObjectRemoved:Delete",
) -> Event:
    """Return an event that the object was removed, at its own time unless `time` is given.

    It is about any version unless the object names one.
    """
    return _event(listed, name, sequencer, time, "backfill", NOTHING_MORE)


def marked(listed: Object) -> Event:
    """Return an event that the delete marker was made, at its own time."""
    return removed(listed, name="s3:ObjectRemoved:DeleteMarkerCreated")


def just_after(order: tuple[str, str]) -> tuple[str, str]:
    """Return the order just after a row's, before that of any newer real event of its key."""
    sequencer, time = order
    at = datetime.fromisoformat(time or EPOCH) + timedelta(milliseconds=1)
    return sequencer, _iso(at)


def _event(
    listed: Object, name: str, sequencer: str, time: str, by: str, more: Mapping[str, Any]
) -> Event:
    """Return an event of an object as it is parsed from MinIO's record of it."""
    event = Event(
        name=name,
        bucket=listed.bucket,
        key=listed.key,
        time=time or time_of(listed.modified),
        sequencer=sequencer,
        stored=msgspec.Raw(),
        version_id=None if listed.version_id == UNVERSIONED else listed.version_id,
        user_agent=AGENT + by,
        **more,
    )
    return minio.parse(msgspec.Raw(encode(record(event))))


def time_of(modified: int | None) -> str:
    """Return the time of an event from Unix ms."""
    if modified is None:
        return EPOCH
    return _iso(datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=modified))


def _iso(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"
