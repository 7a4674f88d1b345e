"""Amazon S3's own record: the original bytes, or as S3 would have written it.

`{"Records": [one]}`. Source: "Event message structure" of the Amazon S3 user guide. Events from
EventBridge, CloudTrail or in MinIO's dialect become records of version 2.3, the last that was
common to all kinds of events; what the source did not state is left out.
"""

from typing import Any

import msgspec

from bucketcast.event import Event, quoted, to_millis
from bucketcast.event.names import in_aws
from bucketcast.shapes.records import S3, Bucket, Identity, Record, Request, Response

_VERSION = "2.3"
_WITH_DATA = ("s3:ObjectRestore:Completed", "s3:ObjectTransition:Complete", "s3:IntelligentTiering")
_encode = msgspec.json.Encoder().encode


class _Object(msgspec.Struct, gc=False, omit_defaults=True):
    key: str
    size: int | None = None
    eTag: str | None = None
    versionId: str | None = None
    sequencer: str = ""


class _Record(Record[Request, Response, Bucket, _Object], omit_defaults=True):
    glacierEventData: dict[str, Any] | None = None
    intelligentTieringEventData: dict[str, Any] | None = None
    lifecycleEventData: dict[str, Any] | None = None


class _Records(msgspec.Struct, gc=False):
    Records: tuple[_Record | msgspec.Raw]


def name(event: Event) -> str:
    """Return S3's name of the event, as in records."""
    return in_aws(event).removeprefix("s3:")


def key(event: Event) -> str:
    """Return the key as S3 encodes it: form-encoded, except the slash."""
    return quoted(event.key, safe="/*")


def record(event: Event) -> _Record | msgspec.Raw:
    """Return the record as S3 wrote it, or would have."""
    if not event.dialect:
        return event.record
    return _Record(
        _VERSION,
        "aws:s3",
        event.region,
        event.time,
        name(event),
        Identity(event.principal),
        Request(event.source_ip),
        Response(event.request_id, event.host_id),
        S3(
            "1.0",
            event.rule,
            Bucket(event.bucket, Identity(event.owner), _bucket_arn(event)),
            _Object(key(event), event.size, event.etag, event.version_id, event.sequencer),
        ),
        **(_data(event) if event.name in _WITH_DATA else {}),
    )


def _bucket_arn(event: Event) -> str:
    """Return the ARN in the partition of the event's region."""
    begin = event.region.partition("-")[0]
    partition = "aws-us-gov" if event.region.startswith("us-gov-") else "aws"
    return f"arn:{'aws-cn' if begin == 'cn' else partition}:s3:::{event.bucket}"


def _data(event: Event) -> dict[str, Any]:
    """Return the member of a record that only some events have, as far as the source states it."""
    if event.storage_class and name(event) == "LifecycleTransition":
        moved = {"destinationStorageClass": event.storage_class}
        return {"lifecycleEventData": {"transitionEventData": moved}}
    if event.dialect != "eventbridge":
        return {}
    detail = msgspec.json.decode(event.record).get("detail", {})
    if tier := detail.get("destination-access-tier"):
        return {"intelligentTieringEventData": {"destinationAccessTier": tier}}
    if expires := detail.get("restore-expiry-time"):
        restored = {
            "lifecycleRestorationExpiryTime": to_millis(str(expires)),
            "lifecycleRestoreStorageClass": detail.get("source-storage-class", ""),
        }
        return {"glacierEventData": {"restoreEventData": restored}}
    return {}


def message(event: Event) -> bytes:
    """Return `{"Records": [one]}`."""
    return _encode(_Records((record(event),)))
