"""How Amazon S3 and MinIO report what happened in a bucket: bodies as they send them.

Each is a recorded body (`tests/events`) with other names, times and ids; what is left out, and
which sequencer stands where, is as it was seen on running servers, or as Amazon documents it.
"""

import json
import random
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import quote_plus

from tests.contract.bucket import CREATIONS, Happened, What
from tests.contract.case import DAY

Dialect = Literal["s3", "minio"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
_RECORDED = Path(__file__).parent.parent / "events"
_BEGAN = datetime.fromisoformat(f"{DAY}T03:04:05Z")
_STEP = timedelta(milliseconds=337)
_FIRST_OF_S3 = 0x0055AED6DCD90281E5
_S3 = {
    What.PUT: "ObjectCreated:Put",
    What.POST: "ObjectCreated:Post",
    What.COPY: "ObjectCreated:Copy",
    What.MULTIPART: "ObjectCreated:CompleteMultipartUpload",
    What.DELETED: "ObjectRemoved:Delete",
    What.MARKED: "ObjectRemoved:DeleteMarkerCreated",
    What.REMOVED: "ObjectRemoved:Delete",
    What.UNMARKED: "ObjectRemoved:Delete",
    What.EXPIRED: "LifecycleExpiration:Delete",
    What.EXPIRED_MARKED: "LifecycleExpiration:DeleteMarkerCreated",
    What.EXPIRED_OLDER: "LifecycleExpiration:Delete",
    What.TAGGED: "ObjectTagging:Put",
    What.UNTAGGED: "ObjectTagging:Delete",
    What.RETAINED: "ObjectRetention:Put",
    What.MOVED: "LifecycleTransition",
}
_CLOUDTRAIL = {What.ON_HOLD: "put-object-legal-hold", What.READ: "get-object"}
_EVENTBRIDGE: Mapping[What, tuple[str, dict[str, str]]] = {
    What.PUT: ("Object Created", {"reason": "PutObject"}),
    What.POST: ("Object Created", {"reason": "POST Object"}),
    What.COPY: ("Object Created", {"reason": "CopyObject"}),
    What.MULTIPART: ("Object Created", {"reason": "CompleteMultipartUpload"}),
    What.DELETED: ("Object Deleted", {"deletion-type": "Permanently Deleted"}),
    What.MARKED: ("Object Deleted", {"deletion-type": "Delete Marker Created"}),
    What.REMOVED: ("Object Deleted", {"deletion-type": "Permanently Deleted"}),
    What.UNMARKED: ("Object Deleted", {"deletion-type": "Permanently Deleted"}),
    What.TAGGED: ("Object Tags Added", {}),
    What.UNTAGGED: ("Object Tags Deleted", {}),
}
_MINIO = {
    **{what: f"s3:{name}" for what, name in _S3.items() if "Object" in name},
    # Removing a marker and making one look the same; so do expiring a version and what is current.
    What.UNMARKED: "s3:ObjectRemoved:DeleteMarkerCreated",
    What.NOTHING: "s3:ObjectRemoved:NoOP",
    What.EXPIRED: "s3:ObjectRemoved:Delete",
    What.EXPIRED_MARKED: "s3:ObjectRemoved:Delete",
    What.EXPIRED_OLDER: "s3:ObjectRemoved:Delete",
    What.TAGGED: "s3:ObjectCreated:PutTagging",
    What.UNTAGGED: "s3:ObjectCreated:DeleteTagging",
    What.RETAINED: "s3:ObjectCreated:PutRetention",
    What.ON_HOLD: "s3:ObjectCreated:PutLegalHold",
    What.MOVED: "s3:ObjectTransition:Complete",
    What.READ: "s3:ObjectAccessed:Get",
}
_OF_S3_IN_MINIO = {
    **_MINIO,
    What.UNMARKED: "s3:ObjectRemoved:Delete",
    What.EXPIRED_MARKED: "s3:ObjectRemoved:DeleteMarkerCreated",
}
_OLD_SEQUENCER = (What.TAGGED, What.UNTAGGED, What.MOVED, What.READ)
"""What leaves an object's modification time as it is, which MinIO's sequencer is."""


class Untold(NamedTuple):
    """Keys of which a source reports too little to know what a listing shows.

    Of those that `may_be_absent` no row has to be there, though a right one may. Of those that
    `may_be_stale` nothing can be said.
    """

    may_be_absent: set[str]
    may_be_stale: set[str]


class Shown(NamedTuple):
    """What MinIO's record of an event shows: its name, and what it says of the object."""

    name: str
    version: str
    etag: str
    size: int


def shown(it: Happened, sent: Mapping[str, Any]) -> Shown:
    """Return what has to be shown of an event that S3 sent in such a body."""
    creates, tags = it.what in CREATIONS, it.what in (What.TAGGED, What.UNTAGGED)
    return Shown(
        _OF_S3_IN_MINIO[it.what],
        it.named or "",
        it.about.etag if creates or (tags and "Records" in sent) else "",
        it.about.size if creates else 0,
    )


def unreported(dialect: Dialect, history: Iterable[Happened]) -> Untold:
    """Return what a source does not report, beside versions that surface, which none reports.

    MinIO reports the removal of any marker as if one was made, and the marker that its lifecycle
    leaves as if a version of that id was removed.
    """
    unknown = Untold(set(), set())
    for happened in history:
        if happened.what in (*CREATIONS, What.MARKED, What.DELETED):
            unknown.may_be_stale.discard(happened.key)
        if happened.what in CREATIONS:
            unknown.may_be_absent.discard(happened.key)
        elif dialect == "minio" and happened.what is What.UNMARKED:
            unknown.may_be_absent.add(happened.key)
        elif dialect == "minio" and happened.what is What.EXPIRED_MARKED:
            unknown.may_be_stale.add(happened.key)
    return unknown


def body(
    dialect: Dialect,
    bucket: str,
    it: Happened,
    source: random.Random,
    by_eventbridge: float = 0.25,
) -> dict[str, Any]:
    """What the source sends of it, S3 partly by EventBridge; nothing where it says nothing."""
    if dialect == "minio":
        return _of_minio(bucket, it) if it.what in _MINIO else {}
    if it.what in _CLOUDTRAIL:
        return _of_cloudtrail(bucket, it)
    if it.what in _EVENTBRIDGE and source.random() < by_eventbridge:
        return _of_eventbridge(bucket, it)
    return _of_s3(bucket, it) if it.what in _S3 else {}


def _recorded(name: str) -> dict[str, Any]:
    text = (_RECORDED / f"{name}.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def time_of(at: int) -> datetime:
    """When the bucket's time was this number."""
    return _BEGAN + at * _STEP


def _millis(at: int) -> str:
    time = time_of(at)
    return f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03}Z"


def _record(made: dict[str, Any], bucket: str, name: str, it: Happened) -> dict[str, Any]:
    """The record of a body, renamed; what is left is its object."""
    (record,) = made["Records"]
    record["eventName"], record["eventTime"] = name, _millis(it.at)
    record["responseElements"]["x-amz-request-id"] = f"{it.at:016X}"
    record["s3"]["bucket"]["name"] = bucket
    record["s3"]["bucket"]["arn"] = f"arn:aws:s3:::{bucket}"
    return dict(record)


def _of_s3(bucket: str, it: Happened) -> dict[str, Any]:
    made = _recorded("s3/put-2.1")
    found: dict[str, Any] = {"key": quote_plus(it.key)}
    if it.what in CREATIONS:
        found["size"] = it.about.size
    if it.what in CREATIONS or it.what in (What.TAGGED, What.UNTAGGED):
        found["eTag"] = it.about.etag
    if it.named:
        found["versionId"] = it.named
    if it.what not in (What.TAGGED, What.UNTAGGED, What.RETAINED, What.MOVED):
        found["sequencer"] = f"{_FIRST_OF_S3 + it.at:018X}"
    record = _record(made, bucket, _S3[it.what], it)
    record["s3"]["object"] = found
    return made


def _of_eventbridge(bucket: str, it: Happened) -> dict[str, Any]:
    made = _recorded("eventbridge/object-created")
    made["detail-type"], about = _EVENTBRIDGE[it.what]
    made["time"] = f"{time_of(it.at):%Y-%m-%dT%H:%M:%SZ}"
    found: dict[str, Any] = {"key": it.key}
    if it.what in CREATIONS:
        found |= {"size": it.about.size, "etag": it.about.etag}
    if it.named:
        found["version-id"] = it.named
    if it.what not in (What.TAGGED, What.UNTAGGED):
        found["sequencer"] = f"{_FIRST_OF_S3 + it.at:x}"
    detail = {**made["detail"], "bucket": {"name": bucket}, "object": found, **about}
    detail |= {"request-id": f"{it.at:016X}"}
    made["detail"] = {key: each for key, each in detail.items() if key != "reason" or about}
    return made


def _of_cloudtrail(bucket: str, it: Happened) -> dict[str, Any]:
    made = _recorded(f"cloudtrail/{_CLOUDTRAIL[it.what]}")
    detail = made["detail"]
    made["time"] = detail["eventTime"] = f"{time_of(it.at):%Y-%m-%dT%H:%M:%SZ}"
    detail["requestID"] = f"{it.at:016X}"
    parameters = {**detail["requestParameters"], "bucketName": bucket, "key": it.key}
    parameters.pop("versionId", None)
    detail["requestParameters"] = parameters | ({"versionId": it.named} if it.named else {})
    return made


def _of_minio(bucket: str, it: Happened) -> dict[str, Any]:
    made = _recorded("minio/object-created-put")
    name = _MINIO[it.what]
    made["EventName"], made["Key"] = name, f"{bucket}/{it.key}"
    record = _record(made, bucket, name, it)
    at = time_of(it.about.made if it.what in _OLD_SEQUENCER else it.at)
    nanoseconds = (at - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1) * 1000
    found: dict[str, Any] = {"key": quote_plus(it.key, safe="")}
    if "Removed" not in name:
        size = {"size": it.about.size} if it.about.size else {}
        found |= {**size, "eTag": it.about.etag, "contentType": "text/plain"}
        found["userMetadata"] = {"content-type": "text/plain"}
    if it.named:
        found["versionId"] = it.named
    record["s3"]["object"] = found | {"sequencer": f"{nanoseconds:X}"}
    return made
