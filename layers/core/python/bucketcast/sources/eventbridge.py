"""Amazon S3's events as EventBridge delivers them: one envelope with `detail-type` and `detail`.

Source: "EventBridge event message structure" of the Amazon S3 user guide. Unlike in S3's own
notifications the key is not encoded, the time has no fractions, `requester` is an account, and
nothing says which principal asked. A `detail-type` that S3 adds later keeps its words as its name,
which no rule asks for.
"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from bucketcast.errors import BadEvent
from bucketcast.event import BucketName, Event, Sequencer, Size, Time, to_millis

_NAMES = MappingProxyType(
    {
        ("Object Created", "PutObject"): "s3:ObjectCreated:Put",
        ("Object Created", "POST Object"): "s3:ObjectCreated:Post",
        ("Object Created", "CopyObject"): "s3:ObjectCreated:Copy",
        ("Object Created", "CompleteMultipartUpload"): "s3:ObjectCreated:CompleteMultipartUpload",
        ("Object Deleted", "Permanently Deleted"): "s3:ObjectRemoved:Delete",
        ("Object Deleted", "Delete Marker Created"): "s3:ObjectRemoved:DeleteMarkerCreated",
        ("Object Restore Initiated", ""): "s3:ObjectRestore:Post",
        ("Object Restore Completed", ""): "s3:ObjectRestore:Completed",
        ("Object Restore Expired", ""): "s3:ObjectRestore:Delete",
        ("Object Storage Class Changed", ""): "s3:ObjectTransition:Complete",
        ("Object Access Tier Changed", ""): "s3:IntelligentTiering",
        ("Object ACL Updated", ""): "s3:ObjectAcl:Put",
        ("Object Tags Added", ""): "s3:ObjectCreated:PutTagging",
        ("Object Tags Deleted", ""): "s3:ObjectCreated:DeleteTagging",
        ("Object Annotation Created", ""): "s3:ObjectAnnotation:Put",
        ("Object Annotation Removed", ""): "s3:ObjectAnnotation:Delete",
        ("Object Retention Updated", ""): "s3:ObjectCreated:PutRetention",
    }
)
"""By `detail-type`, and `reason` of what was created or `deletion-type` of what was deleted."""


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


class _Envelope(msgspec.Struct, gc=False):
    type: str = msgspec.field(name="detail-type")
    time: Time
    detail: _Detail
    region: str = ""
    account: str = ""


_envelope = msgspec.json.Decoder(_Envelope)


def recognises(fields: Mapping[str, msgspec.Raw]) -> bool:
    """Whether these top-level fields are those of an event that S3 gave to EventBridge."""
    kind = bytes(fields.get("detail-type", b""))
    return bytes(fields.get("source", b"")) == b'"aws.s3"' and kind.startswith(b'"Object ')


def events(_fields: Mapping[str, msgspec.Raw], body: str) -> list[Event]:
    """The one event of an envelope.

    Raises:
        BadEvent: a field is missing or of another type (named by its path).
    """
    raw = body.encode()
    try:
        envelope = _envelope.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadEvent(f"broken EventBridge event: {error}") from None
    detail = envelope.detail
    about = detail.deletion_type or (detail.reason if envelope.type == "Object Created" else "")
    name = _NAMES.get((envelope.type, about)) or f"s3:{envelope.type}{about and ':' + about}"
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
        )
    ]
