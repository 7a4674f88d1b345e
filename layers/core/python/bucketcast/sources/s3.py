"""Amazon S3's own notifications: `{"Records": [...]}` of version 2.x, and `s3:TestEvent`.

Source: "Event message structure" of the Amazon S3 user guide. Readers must compare the major
version for equality and ignore unknown fields; size and eTag are missing on deletes, the sequencer
on tagging and ACL events, and the key is form-encoded.
"""

from collections.abc import Mapping
from urllib.parse import unquote_plus

import msgspec

from bucketcast.event import Event, Size, to_millis
from bucketcast.event.names import translate
from bucketcast.sources import records


class _Object(records.ObjectFields):
    size: Size | None = None


class _Transition(msgspec.Struct, gc=False):
    storage_class: str | None = msgspec.field(default=None, name="destinationStorageClass")


class _Lifecycle(msgspec.Struct, gc=False):
    transition: _Transition | None = msgspec.field(default=None, name="transitionEventData")


class _Record(records.Record[_Object]):
    lifecycle: _Lifecycle | None = msgspec.field(default=None, name="lifecycleEventData")

    @property
    def storage_class(self) -> str | None:
        transition = self.lifecycle and self.lifecycle.transition
        return transition.storage_class if transition else None


_record = msgspec.json.Decoder(_Record)


def recognises(fields: Mapping[str, msgspec.Raw], body: str) -> bool:
    """Return True if these are the top-level fields of an S3 notification or test event.

    A record with an unknown `eventSource` is read as S3's: others copy its form.
    """
    source = records.source(fields, body)
    if source:
        return source not in ("minio:s3", "ceph:s3")
    return bytes(fields.get("Event", b"")) == b'"s3:TestEvent"'


def events(fields: Mapping[str, msgspec.Raw], _body: str) -> list[Event]:
    """Return all events of one message; a test event only confirms the setup and has none.

    Raises:
        BadEvent: `Records` is not a list, or one record is broken: nothing of the message is used.
    """
    return [parse(raw) for raw in records.raw_records(fields)] if "Records" in fields else []


def parse(raw: msgspec.Raw) -> Event:
    """Return one record as an event.

    Raises:
        BadEvent: a field is missing or of another type (named by its path), or the record's
            major version is not 2.
    """
    record = records.decode(_record, raw)
    item = record.s3.object
    key = item.key
    name, original = translate(record.name)
    principal, owner, source_ip, request_id, host_id = record.origin
    # Positional, since keywords take twice as long.
    return Event(
        name,
        record.s3.bucket.name,
        unquote_plus(key) if "%" in key or "+" in key else key,
        to_millis(record.time),
        item.sequencer,
        raw,
        item.size,
        item.etag,
        item.version_id,
        record.region,
        principal,
        owner,
        source_ip,
        request_id,
        host_id,
        "",
        None,
        record.storage_class,
        None,
        None,
        original,
    )
