"""S3 API calls that CloudTrail logs, via EventBridge: those that S3 itself does not notify of.

Source: "Amazon S3 CloudTrail events" of the Amazon S3 user guide and "CloudTrail record contents".
Nothing else reports reads, legal holds, and created or removed buckets. A record comes minutes
later, in no order and perhaps twice; it has no size, eTag or sequencer, and brackets around the
user agent. Failed calls, and calls that S3's own notifications cover, give no event.
"""

from types import MappingProxyType

import msgspec

from bucketcast.errors import BadEvent
from bucketcast.event import BucketName, Event, Time, to_millis
from bucketcast.event.names import BUCKET_CREATED, BUCKET_REMOVED

TYPE = b'"AWS API Call via CloudTrail"'
"""The `detail-type` of such a call."""
CALLS = MappingProxyType(
    {
        "GetObject": "s3:ObjectAccessed:Get",
        "HeadObject": "s3:ObjectAccessed:Head",
        "GetObjectRetention": "s3:ObjectAccessed:GetRetention",
        "GetObjectLegalHold": "s3:ObjectAccessed:GetLegalHold",
        "GetObjectAttributes": "s3:ObjectAccessed:Attributes",
        "PutObjectLegalHold": "s3:ObjectCreated:PutLegalHold",
        "PutObjectRetention": "s3:ObjectCreated:PutRetention",
        # management events; the others are data events, which cost money
        "CreateBucket": BUCKET_CREATED,
        "DeleteBucket": BUCKET_REMOVED,
    }
)
"""MinIO's name by the API call."""


class _Session(msgspec.Struct, gc=False):
    principal: str = msgspec.field(default="", name="principalId")
    kind: str = msgspec.field(default="", name="type")
    service: str = msgspec.field(default="", name="invokedBy")


class _Request(msgspec.Struct, gc=False):
    bucket: BucketName | None = msgspec.field(default=None, name="bucketName")
    key: str = ""
    version_id: str | None = msgspec.field(default=None, name="versionId")


class _Response(msgspec.Struct, gc=False):
    version_id: str | None = msgspec.field(default=None, name="x-amz-version-id")


class _More(msgspec.Struct, gc=False):
    host_id: str = msgspec.field(default="", name="x-amz-id-2")


class _Detail(msgspec.Struct, gc=False, rename="camel"):
    event_name: str
    event_time: Time
    request_parameters: _Request | None = None
    response_elements: _Response | None = None
    additional_event_data: _More | None = None
    user_identity: _Session | None = None
    aws_region: str = ""
    error_code: str | None = None
    user_agent: str = ""
    source_ip: str = msgspec.field(default="", name="sourceIPAddress")
    request_id: str = msgspec.field(default="", name="requestID")
    recipient_account_id: str = ""


class _Envelope(msgspec.Struct, gc=False):
    detail: _Detail


_envelope = msgspec.json.Decoder(_Envelope)


def events(body: str) -> list[Event]:
    """Return the event of a call, or none.

    Raises:
        BadEvent: a field is missing or of another type (named by its path).
    """
    raw = body.encode()
    try:
        detail = _envelope.decode(raw).detail
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadEvent(f"broken CloudTrail event: {error}") from None
    name = CALLS.get(detail.event_name)
    request = detail.request_parameters
    if not name or detail.error_code:
        return []
    if request is None or request.bucket is None:
        raise BadEvent("broken CloudTrail event: no bucketName - at `$.detail.requestParameters`")
    session, response = detail.user_identity or _Session(), detail.response_elements
    return [
        Event(
            name,
            request.bucket,
            request.key,
            to_millis(detail.event_time),
            "",
            msgspec.Raw(raw),
            version_id=request.version_id or (response.version_id if response else None),
            region=detail.aws_region,
            principal=session.principal or session.service or session.kind,
            owner=detail.recipient_account_id,
            source_ip=detail.source_ip,
            request_id=detail.request_id,
            host_id=detail.additional_event_data.host_id if detail.additional_event_data else "",
            user_agent=detail.user_agent.removeprefix("[").removesuffix("]"),
            dialect="cloudtrail",
        )
    ]
