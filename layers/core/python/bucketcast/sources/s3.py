"""Amazon S3's own notifications: `{"Records": [...]}` of version 2.x, and `s3:TestEvent`.

Source: "Event message structure" of the Amazon S3 user guide. Readers must compare the major
version for equality and ignore unknown fields; size and eTag are missing on deletes, the sequencer
on tagging and ACL events, and the key is form-encoded.
"""

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
