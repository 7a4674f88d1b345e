"""Amazon S3's own notifications: `{"Records": [...]}` of version 2.x, and `s3:TestEvent`.

Source: "Event message structure" of the Amazon S3 user guide. A reader is to compare the major
version for equality and to ignore fields it does not know; size and eTag are missing on deletes,
the sequencer on tagging and ACL events, and the key is form-encoded.
"""

from collections.abc import Mapping
from urllib.parse import unquote_plus

import msgspec

from bucketcast.errors import BadEvent
from bucketcast.event import BucketName, Event, Sequencer, Size, Time, to_millis
from bucketcast.names import from_aws


class _Identity(msgspec.Struct, gc=False):
    principal: str = msgspec.field(default="", name="principalId")


class _Request(msgspec.Struct, gc=False):
    source_ip: str = msgspec.field(default="", name="sourceIPAddress")


class _Response(msgspec.Struct, gc=False):
    request_id: str = msgspec.field(default="", name="x-amz-request-id")
    host_id: str = msgspec.field(default="", name="x-amz-id-2")


class _Bucket(msgspec.Struct, gc=False):
    name: BucketName
    owner: _Identity | None = msgspec.field(default=None, name="ownerIdentity")


class _Object(msgspec.Struct, gc=False):
    key: str
    size: Size | None = None
    etag: str | None = msgspec.field(default=None, name="eTag")
    version_id: str | None = msgspec.field(default=None, name="versionId")
    sequencer: Sequencer = ""


class _S3(msgspec.Struct, gc=False):
    bucket: _Bucket
    object: _Object


class _Record(msgspec.Struct, gc=False):
    version: str = msgspec.field(name="eventVersion")
    time: Time = msgspec.field(name="eventTime")
    name: str = msgspec.field(name="eventName")
    s3: _S3
    region: str = msgspec.field(default="", name="awsRegion")
    identity: _Identity | None = msgspec.field(default=None, name="userIdentity")
    request: _Request | None = msgspec.field(default=None, name="requestParameters")
    response: _Response | None = msgspec.field(default=None, name="responseElements")


_record = msgspec.json.Decoder(_Record)
_records = msgspec.json.Decoder(list[msgspec.Raw])


def recognises(fields: Mapping[str, msgspec.Raw]) -> bool:
    """Whether these top-level fields are those of an S3 notification or of its test event."""
    return "Records" in fields or bytes(fields.get("Event", b"")) == b'"s3:TestEvent"'


def events(fields: Mapping[str, msgspec.Raw], _body: str) -> list[Event]:
    """All events of one message; a test event says only that the wiring works and gives none.

    Raises:
        BadEvent: `Records` is no list, or one record is broken: nothing of the message is used.
    """
    if "Records" not in fields:
        return []
    try:
        raws = _records.decode(fields["Records"])
    except msgspec.MsgspecError as error:
        raise BadEvent(f"Records is no list: {error}") from None
    return [parse(raw) for raw in raws]


def parse(raw: msgspec.Raw) -> Event:
    """One record as an event.

    Raises:
        BadEvent: a field is missing or of another type (named by its path), or the record's
            major version is not 2.
    """
    try:
        record = _record.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadEvent(f"broken S3 record: {error}") from None
    if not record.version.startswith("2."):
        raise BadEvent(f"eventVersion is '{record.version}'; only 2.x is known")
    s3, identity, request, response = record.s3, record.identity, record.request, record.response
    bucket, item = s3.bucket, s3.object
    key = item.key
    return Event(
        from_aws(record.name),
        bucket.name,
        unquote_plus(key) if "%" in key or "+" in key else key,
        to_millis(record.time),
        item.sequencer,
        raw,
        item.size,
        item.etag,
        item.version_id,
        record.region,
        identity.principal if identity else "",
        bucket.owner.principal if bucket.owner else "",
        request.source_ip if request else "",
        response.request_id if response else "",
        response.host_id if response else "",
    )
