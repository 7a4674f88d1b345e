"""MinIO's notifications, as its webhook target posts them and our own scanner writes them.

`{"EventName", "Key", "Records": [one]}`, of which only `Records` is read: one or several, with the
key form-encoded. Source: the payload schema in AIStor's list of bucket notifications, and bodies
captured from a running MinIO. `size` is left out if it is 0, and always after a removal; a metadata
name keeps the case in which the client wrote it.
"""

from urllib.parse import unquote_plus

import msgspec

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
