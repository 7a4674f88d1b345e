"""Amazon S3's events as EventBridge delivers them: one envelope with `detail-type` and `detail`.

Source: "EventBridge event message structure" of the Amazon S3 user guide. Unlike in S3's own
notifications the key is not encoded, the time has no fractions, `requester` is an account, and the
principal is missing. A `detail-type` that S3 adds later gives no event.
"""

import logging
from functools import lru_cache
from types import MappingProxyType

import msgspec

from bucketcast.errors import BadEvent
from bucketcast.event import BucketName, Event, Sequencer, Size, Time, to_millis
from bucketcast.event.names import translate

_NAMES = MappingProxyType(
    {
        ("Object Created", "PutObject"): "ObjectCreated:Put",
        ("Object Created", "POST Object"): "ObjectCreated:Post",
        ("Object Created", "CopyObject"): "ObjectCreated:Copy",
        ("Object Created", "CompleteMultipartUpload"): "ObjectCreated:CompleteMultipartUpload",
        ("Object Deleted", "Permanently Deleted"): "ObjectRemoved:Delete",
        ("Object Deleted", "Delete Marker Created"): "ObjectRemoved:DeleteMarkerCreated",
        ("Object Restore Initiated", ""): "ObjectRestore:Post",
        ("Object Restore Completed", ""): "ObjectRestore:Completed",
        ("Object Restore Expired", ""): "ObjectRestore:Delete",
        ("Object Storage Class Changed", ""): "LifecycleTransition",
        ("Object Access Tier Changed", ""): "IntelligentTiering",
        ("Object ACL Updated", ""): "ObjectAcl:Put",
        ("Object Tags Added", ""): "ObjectTagging:Put",
        ("Object Tags Deleted", ""): "ObjectTagging:Delete",
        ("Object Annotation Created", ""): "ObjectAnnotation:Put",
        ("Object Annotation Removed", ""): "ObjectAnnotation:Delete",
        ("Object Retention Updated", ""): "ObjectRetention:Put",
    }
)
"""S3's own name by `detail-type`, and `reason` of what was created or `deletion-type`."""
_FAMILIES = MappingProxyType({"Object Created": "ObjectCreated", "Object Deleted": "ObjectRemoved"})
"""The types whose causes may grow."""
_TYPES = frozenset(f'"{kind}"'.encode() for kind, _ in _NAMES)

log = logging.getLogger(__name__)


class _Bucket(msgspec.Struct, gc=False):
    name: BucketName


class _Object(msgspec.Struct, gc=False):
    key: str
    size: Size | None = None
    etag: str | None = None
    version_id: str | None = msgspec.field(default=None, name="version-id")
    sequencer: Sequencer = ""


class _Detail(msgspec.Struct, gc=False, rename="kebab"):
    bucket: _Bucket
    object: _Object
    request_id: str = ""
    requester: str = ""
    source_ip_address: str = ""
    reason: str = ""
    deletion_type: str = ""
    destination_storage_class: str | None = None


class _Envelope(msgspec.Struct, gc=False):
    type: str = msgspec.field(name="detail-type")
    time: Time
    detail: _Detail
    region: str = ""
    account: str = ""


_envelope = msgspec.json.Decoder(_Envelope)


def events(kind: bytes, body: str) -> list[Event]:
    """Return the one event of an envelope of this `detail-type`.

    None if S3 added that after this was written.

    Raises:
        BadEvent: a field is missing or of another type (named by its path).
    """
    if kind not in _TYPES:
        _report(kind)
        return []
    raw = body.encode()
    try:
        envelope = _envelope.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadEvent(f"broken EventBridge event: {error}") from None
    detail = envelope.detail
    cause = detail.deletion_type or (detail.reason if envelope.type == "Object Created" else "")
    family = _FAMILIES.get(envelope.type, envelope.type)
    s3_name = _NAMES.get((envelope.type, cause)) or f"{family}:{cause.replace(' ', '')}"
    if detail.reason == "Lifecycle Expiration":
        s3_name = s3_name.replace("ObjectRemoved", "LifecycleExpiration")
    name, original = translate(s3_name)
    return [
        Event(
            name,
            detail.bucket.name,
            detail.object.key,
            to_millis(envelope.time),
            detail.object.sequencer,
            msgspec.Raw(raw),
            detail.object.size,
            detail.object.etag,
            detail.object.version_id,
            envelope.region,
            detail.requester,
            envelope.account,
            detail.source_ip_address,
            detail.request_id,
            storage_class=detail.destination_storage_class,
            original=original,
            dialect="eventbridge",
        )
    ]


@lru_cache(64)
def _report(kind: bytes) -> None:
    """Log a type that is not known, once: a new one may come with each object."""
    log.warning("events of S3 of the type %s match no rule: it is not known", kind.decode())
