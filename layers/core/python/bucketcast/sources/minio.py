"""MinIO's notifications: what its webhook target posts, its listen interface streams.

`{"EventName", "Key", "Records": [one]}`, or the `Records` alone. Source: the payload schema in
AIStor's list of bucket notifications, and bodies captured from a running MinIO. Keys are
form-encoded; `size` is left out where it is 0, and always after a removal; a metadata name keeps
the case in which the client wrote it. Bucketcast's own scanner writes this dialect too.
"""

from collections.abc import Mapping
from urllib.parse import unquote_plus

import msgspec

from bucketcast.event import Event, to_millis
from bucketcast.names import NOTHING_HAPPENED, REMOVALS, translated
from bucketcast.sources import records

_META = "x-amz-meta-"
_NO_OBJECT = REMOVALS | {NOTHING_HAPPENED}


class _Object(records.Named):
    # MinIO says -1 where it cannot tell.
    size: int | None = None
    content_type: str | None = msgspec.field(default=None, name="contentType")
    metadata: dict[str, str] | None = msgspec.field(default=None, name="userMetadata")


class _Source(msgspec.Struct, gc=False):
    user_agent: str = msgspec.field(default="", name="userAgent")


class _Record(records.Record[_Object]):
    source: _Source | None = None


_record = msgspec.json.Decoder(_Record)


def recognises(fields: Mapping[str, msgspec.Raw], body: str) -> bool:
    """Whether the records are MinIO's."""
    return records.source(fields, body) == "minio:s3"


def events(fields: Mapping[str, msgspec.Raw], _body: str) -> list[Event]:
    """The events of one message.

    Raises:
        BadEvent: `Records` is no list, or one record is broken: nothing of the message is used.
    """
    return records.parsed(fields, parse)


def parse(raw: msgspec.Raw) -> Event:
    """One record as an event.

    Raises:
        BadEvent: a field is missing or of another type (named by its path), or the record's
            major version is not 2.
    """
    record = records.decoded(_record, raw)
    item = record.s3.object
    name, original = translated(record.name)
    size = item.size
    if size is None and item.etag and name not in _NO_OBJECT:
        size = 0
    metadata = item.metadata
    if metadata is not None:
        lower = ((given.lower(), text) for given, text in metadata.items())
        metadata = {given: text for given, text in lower if given.startswith(_META)}
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
        *record.who,
        user_agent=record.source.user_agent if record.source else "",
        content_type=item.content_type,
        metadata=metadata,
        original=original,
        dialect="minio",
    )
