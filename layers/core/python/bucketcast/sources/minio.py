"""MinIO's notifications: the body of its webhook target, and a line of its listen API.

`{"EventName", "Key", "Records": [one]}` is what targets get, with the key form-encoded; a line of
the listen stream has only `Records`, with one record and an unencoded key, or null as a keep-alive.
A relay may reduce a webhook's body to `Records` too: a key that is exactly what MinIO's encoding
produces, `%XX` included, counts as encoded. Source: the payload schema in AIStor's list of bucket
notifications, and bodies captured from a running MinIO. `size` is left out if it is 0, and always
after a removal; a metadata name keeps the case in which the client wrote it. Bucketcast's own
scanner writes this dialect too, sometimes several records together, with encoded keys.
"""

from collections.abc import Mapping
from urllib.parse import quote_plus, unquote_plus

import msgspec

from bucketcast.errors import BadEvent
from bucketcast.event import Event, to_millis
from bucketcast.event.names import NOTHING_HAPPENED, REMOVALS, translate
from bucketcast.sources import records

_META = "x-amz-meta-"
_NO_OBJECT = REMOVALS | {NOTHING_HAPPENED}


class _Object(records.ObjectFields):
    # -1 if MinIO does not know it.
    size: int | None = None
    content_type: str | None = msgspec.field(default=None, name="contentType")
    metadata: dict[str, str] | None = msgspec.field(default=None, name="userMetadata")


class _Source(msgspec.Struct, gc=False):
    user_agent: str = msgspec.field(default="", name="userAgent")


class _Record(records.Record[_Object]):
    source: _Source | None = None


_record = msgspec.json.Decoder(_Record)
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


def recognises(fields: Mapping[str, msgspec.Raw], body: str) -> bool:
    """Return True if the records are MinIO's."""
    return records.source(fields, body) == "minio:s3"


def events(fields: Mapping[str, msgspec.Raw], _body: str) -> list[Event]:
    """Return the events of one message.

    Raises:
        BadEvent: `Records` is not a list, or one record is broken: nothing of the message is used.
    """
    raw_records = records.raw_records(fields)
    if len(raw_records) == 1 and fields.keys() == {"Records"}:
        raw_records = [_encode_key(raw) for raw in raw_records]
    return [parse(raw) for raw in raw_records]


def _encode_key(raw: msgspec.Raw) -> msgspec.Raw:
    """Return a record of the listen stream with its key encoded, as targets get it.

    Raises:
        BadEvent: it is not a record of MinIO.
    """
    key = records.decode(_record, raw).s3.object.key
    if "%" in key and quote_plus(unquote_plus(key), safe="") == key:
        return raw  # a relay that left the rest of a webhook's body out
    try:
        encoded = quote_plus(key, safe="")
    except UnicodeEncodeError as error:
        raise BadEvent(f"broken S3 record: no Unicode - at `$.s3.object.key`: {error}") from None
    if encoded == key:
        return raw
    return with_key(raw, encoded)


def with_key(raw: bytes | msgspec.Raw, key: str) -> msgspec.Raw:
    """Return a record of MinIO's with another key; the rest stays as it came."""
    # Only the levels around the key are decoded: others may hold values that cannot be.
    record = _fields.decode(raw)
    entity = _fields.decode(record["s3"])
    fields = _fields.decode(entity["object"])
    fields["key"] = _raw(key)
    entity["object"] = _raw(fields)
    record["s3"] = _raw(entity)
    return _raw(record)


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def parse(raw: msgspec.Raw) -> Event:
    """Return one record as an event.

    Raises:
        BadEvent: a field is missing or of another type (named by its path), or the record's
            major version is not 2.
    """
    record = records.decode(_record, raw)
    item = record.s3.object
    name, original = translate(record.name)
    size = item.size
    if size is None and item.etag and name not in _NO_OBJECT:
        size = 0
    metadata = item.metadata
    if metadata is not None:
        lower = ((header.lower(), value) for header, value in metadata.items())
        metadata = {header: value for header, value in lower if header.startswith(_META)}
    principal, owner, source_ip, request_id, host_id = record.origin
    return Event(
        name,
        record.s3.bucket.name,
        unquote_plus(item.key),
        to_millis(record.time),
        item.sequencer,
        raw,
        None if size is None or size < 0 else size,
        item.etag,
        item.version_id,
        record.region,
        principal,
        owner,
        source_ip.removeprefix("[").removesuffix("]"),  # as MinIO writes one of IPv6
        request_id,
        host_id,
        user_agent=record.source.user_agent if record.source else "",
        content_type=item.content_type,
        metadata=metadata,
        original=original,
        dialect="minio",
    )
