"""The common part of the records of S3 and MinIO.

Both are `{"Records": [...]}`, and `eventSource` names the system. Source: "Event message
structure" of the Amazon S3 user guide.
"""

import re
from typing import Any, Generic, TypeVar

import msgspec

from bucketcast.errors import BadEvent
from bucketcast.event import SEQUENCER, TIME, BucketName

Object = TypeVar("Object")

_FROM_AMAZON = '"eventSource":"aws:s3"'
_records = msgspec.json.Decoder(list[msgspec.Raw])
_is_time = re.compile(TIME).match
_is_sequencer = re.compile(SEQUENCER).match
# Inside a string the closing quote would have a backslash before it.
_source = re.compile(r'"eventSource"\s*:\s*"([^"\\]*)"').search


class Identity(msgspec.Struct, gc=False):
    principal: str = msgspec.field(default="", name="principalId")


class Request(msgspec.Struct, gc=False):
    source_ip: str = msgspec.field(default="", name="sourceIPAddress")


class Response(msgspec.Struct, gc=False):
    request_id: str = msgspec.field(default="", name="x-amz-request-id")
    host_id: str = msgspec.field(default="", name="x-amz-id-2")


class Bucket(msgspec.Struct, gc=False):
    name: BucketName
    owner: Identity | None = msgspec.field(default=None, name="ownerIdentity")


class ObjectFields(msgspec.Struct, gc=False):
    """The fields of an object that both have."""

    key: str
    etag: str | None = msgspec.field(default=None, name="eTag")
    version_id: str | None = msgspec.field(default=None, name="versionId")
    sequencer: str = ""


class Entity(msgspec.Struct, Generic[Object], gc=False):
    bucket: Bucket
    object: Object


class Record(msgspec.Struct, Generic[Object], gc=False):
    version: str = msgspec.field(name="eventVersion")
    time: str = msgspec.field(name="eventTime")
    name: str = msgspec.field(name="eventName")
    s3: Entity[Object]
    region: str = msgspec.field(default="", name="awsRegion")
    identity: Identity | None = msgspec.field(default=None, name="userIdentity")
    request: Request | None = msgspec.field(default=None, name="requestParameters")
    response: Response | None = msgspec.field(default=None, name="responseElements")

    @property
    def origin(self) -> tuple[str, str, str, str, str]:
        """Principal, owner, source IP, request id and host id, "" where absent."""
        owner, request, response = self.s3.bucket.owner, self.request, self.response
        return (
            self.identity.principal if self.identity else "",
            owner.principal if owner else "",
            request.source_ip if request else "",
            response.request_id if response else "",
            response.host_id if response else "",
        )


RecordT = TypeVar("RecordT", bound=Record[Any])


def source(body: str) -> str:
    """Return the `eventSource` of a message with records; Amazon's if absent."""
    if _FROM_AMAZON in body:  # as S3 writes it, and far cheaper than to search
        return "aws:s3"
    match = _source(body)
    return match[1] if match else "aws:s3"


def raw_records(text: msgspec.Raw) -> list[msgspec.Raw]:
    """Return the undecoded records of a message by its `Records`.

    Raises:
        BadEvent: `Records` is not a list.
    """
    try:
        return _records.decode(text)
    except msgspec.MsgspecError as error:
        raise BadEvent(f"Records is not a list: {error}") from None


def decode(decoder: msgspec.json.Decoder[RecordT], raw: msgspec.Raw) -> RecordT:
    """Return one record, decoded.

    Raises:
        BadEvent: a field is missing or of another type (named by its path), or the record's
            major version is not 2.
    """
    try:
        record = decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadEvent(f"broken S3 record: {error}") from None
    # By patterns of their types msgspec takes three times as long.
    if not _is_time(record.time):
        raise BadEvent("broken S3 record: found no time in UTC - at `$.eventTime`")
    if not _is_sequencer(record.s3.object.sequencer):
        raise BadEvent("broken S3 record: found no sequencer - at `$.s3.object.sequencer`")
    if not record.version.startswith("2."):
        raise BadEvent(f"eventVersion is '{record.version}'; only 2.x is known")
    return record
