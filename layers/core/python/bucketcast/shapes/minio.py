"""MinIO's record and its wrappings, as its targets send them.

Source: the payload schema in AIStor's list of bucket notifications, and bodies captured from a
running MinIO (`tests/events/minio`). MinIO escapes the record's key and leaves the `Key` beside
it plain; it leaves out `size` when that is 0, and size and eTag after a removal. S3's records
have neither `contentType` nor `userMetadata`, which appear here once they were fetched. MinIO's own
record stays as it came, without the blanks that a relay may have put between its tokens: some
products refuse them.
"""

import re
from functools import lru_cache
from typing import NamedTuple

import msgspec

from bucketcast.event import Event, quoted
from bucketcast.event.names import NOTHING_HAPPENED
from bucketcast.shapes.records import S3, Bucket, Identity, Record

encode = msgspec.json.Encoder().encode
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_WITHOUT_OBJECT = frozenset(
    {"s3:ObjectRemoved:Delete", "s3:ObjectRemoved:DeleteMarkerCreated", NOTHING_HAPPENED}
)
"""In these MinIO leaves out the object's properties; in removals by lifecycle it does not."""
_BLANK = "\ue000"
"""A character that no text of a record is likely to have."""
_is_token = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]*").fullmatch


class _Object(msgspec.Struct, gc=False, omit_defaults=True):
    key: str
    size: int | None = 0
    eTag: str | None = ""
    contentType: str = ""
    userMetadata: dict[str, str] | None = None
    versionId: str | None = None
    sequencer: str = msgspec.UNSET  # type: ignore[assignment]  # always there, also when it is ""


class _Request(msgspec.Struct, gc=False):
    principalId: str
    region: str
    sourceIPAddress: str


class _Response(msgspec.Struct, gc=False):
    host_id: str = msgspec.field(name="x-amz-id-2")
    request_id: str = msgspec.field(name="x-amz-request-id")


class _Source(msgspec.Struct, gc=False):
    host: str
    port: str
    userAgent: str


class MinioRecord(Record[_Request, _Response, Bucket, _Object]):
    """One event as MinIO's record; the fields are in MinIO's order."""

    source: _Source


class _Records(msgspec.Struct, gc=False):
    Records: tuple[MinioRecord | msgspec.Raw]


class _Log(msgspec.Struct, gc=False):
    EventName: str
    Key: str
    Records: tuple[MinioRecord | msgspec.Raw]


class _Texts(NamedTuple):
    """What is between the values that nearly all records have of their own."""

    to_time: str
    to_host_id: str
    to_request_id: str
    to_key: str
    to_sequencer: str
    to_end: str


def record(event: Event) -> MinioRecord | msgspec.Raw:
    """Return the record as MinIO wrote it, or would have."""
    if event.dialect == "minio":
        return msgspec.Raw(msgspec.json.format(event.record, indent=-1))
    return _record(event, quoted(event.key))


def _record(event: Event, key: str) -> MinioRecord:
    """Return the record with the key as given."""
    name, principal = event.name, event.principal
    size, etag, kind, metadata = 0, "", "", None
    if name not in _WITHOUT_OBJECT:
        size, etag = event.size or 0, event.etag or ""
        kind, metadata = event.content_type or "", _metadata(event)
    host = f"[{event.source_ip}]" if ":" in event.source_ip else event.source_ip
    return MinioRecord(
        "2.0",
        "minio:s3",
        event.region,
        event.time,
        name,
        Identity(principal),
        _Request(principal, event.region, host),
        _Response(event.host_id, event.request_id),
        S3(
            "1.0",
            "Config",
            Bucket(event.bucket, Identity(event.owner), "arn:aws:s3:::" + event.bucket),
            _Object(key, size, etag, kind, metadata, event.version_id or None, event.sequencer),
        ),
        _Source(host, "", event.user_agent),
    )


def _join(head: str, event: Event) -> bytes | None:
    """Return the head of a body and the event's record; None if they cannot be joined as text.

    Most of a record is the same in many others, and kept.
    """
    if not event.plain or event.dialect == "minio":
        return None
    if event.content_type or event.metadata or event.headers:
        return None
    name = event.name
    texts = _texts(
        name,
        event.bucket,
        event.region,
        event.principal,
        event.owner,
        event.source_ip,
        event.user_agent,
    )
    if texts is None:
        return None
    to_time, to_host_id, to_request_id, to_key, to_sequencer, to_end = texts
    size = etag = version = ""
    if name not in _WITHOUT_OBJECT:
        size = f',"size":{event.size}' if event.size else ""
        etag = f',"eTag":"{event.etag}"' if event.etag else ""
    if event.version_id:
        version = f',"versionId":"{event.version_id}"'
    return (
        f"{head}{to_time}{event.time}{to_host_id}{event.host_id}{to_request_id}{event.request_id}"
        f'{to_key}{quoted(event.key)}"{size}{etag}{version}{to_sequencer}{event.sequencer}{to_end}'
    ).encode()


@lru_cache(maxsize=1024)
def _texts(  # noqa: PLR0913, PLR0917 - they are the cache's key
    name: str,
    bucket: str,
    region: str,
    principal: str,
    owner: str,
    source_ip: str,
    user_agent: str,
) -> _Texts | None:
    """Return the texts of the records with these values; None if they hide the blanks."""
    blank = Event(
        name,
        bucket,
        _BLANK,
        _BLANK,
        _BLANK,
        msgspec.Raw(),
        region=region,
        principal=principal,
        owner=owner,
        source_ip=source_ip,
        request_id=_BLANK,
        host_id=_BLANK,
        user_agent=user_agent,
    )
    texts = encode(_Records((_record(blank, _BLANK),))).decode().split(_BLANK)
    if len(texts) != len(_Texts._fields):
        return None
    texts[0] = texts[0].removeprefix('{"Records":[')  # or another head
    texts[4] = texts[4].removeprefix('"')  # the other properties come before it
    return _Texts(*texts)


def _metadata(event: Event) -> dict[str, str] | None:
    """Return MinIO's list of an object's metadata, in the order of a Go map."""
    if not (event.metadata or event.content_type or event.headers):  # as nearly always
        return None
    user = {canonical(name): value for name, value in (event.metadata or {}).items()}
    kind = {"content-type": event.content_type} if event.content_type else {}
    metadata = user | kind | (event.headers or {})
    return dict(sorted(metadata.items()))


@lru_cache(maxsize=1024)
def canonical(name: str) -> str:
    """Return a header's name in the canonical form of Go's net/http, as MinIO stores metadata.

    The first letter and those after a hyphen are upper case, the others lower case; an invalid
    header name stays as it is.
    """
    if not _is_token(name):
        return name
    return "-".join(part[:1].upper() + part[1:].lower() for part in name.split("-"))


def path(event: Event) -> str:
    """Return `bucket/key`, decoded: MinIO's `Key`, row key, hash field and message key."""
    return f"{event.bucket}/{event.key}"


def log(event: Event) -> bytes:
    """Return `{"EventName", "Key", "Records": [one]}`, the body for brokers and webhooks."""
    head = f'{{"EventName":"{event.name}","Key":"{event.bucket}/{event.key}","Records":['
    return _join(head, event) or encode(_Log(event.name, path(event), (record(event),)))


def listen_line(event: Event) -> bytes:
    """Return a line of the listen stream: like `records`, with the key unencoded."""
    if event.dialect == "minio":
        plain = changed(msgspec.json.format(event.record, indent=-1), "key", event.key)
        return encode(_Records((plain,))) + b"\n"
    return encode(_Records((_record(event, event.key),))) + b"\n"


def changed(raw: bytes | msgspec.Raw, name: str, value: str) -> msgspec.Raw:
    """Return a record of MinIO's with another value in its object; the rest stays as it came."""
    return with_object(raw, _raw(_fields.decode(object_of(raw)) | {name: _raw(value)}))


def object_of(raw: bytes | msgspec.Raw) -> msgspec.Raw:
    """Return the object in a record, byte for byte."""
    return _fields.decode(_fields.decode(raw)["s3"])["object"]


def with_object(raw: bytes | msgspec.Raw, object_: msgspec.Raw) -> msgspec.Raw:
    """Return a record with another object; the rest stays as it came."""
    # Only the levels around the object are decoded: others may hold values that cannot be.
    record = _fields.decode(raw)
    entity = _fields.decode(record["s3"])
    entity["object"] = object_
    record["s3"] = _raw(entity)
    return _raw(record)


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(encode(value))


def records(event: Event) -> bytes:
    """Return `{"Records": [one]}`, the value in tables, hashes and documents."""
    return _join('{"Records":[', event) or encode(_Records((record(event),)))
