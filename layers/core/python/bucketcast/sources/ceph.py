"""Ceph RGW's notifications: `{"Records": [one]}` with `eventSource` `ceph:s3`.

Source: "Bucket Notifications" of the Ceph documentation, and bodies captured from a running RGW.
The key is not encoded, the name has no `s3:`, the size may be text, and "" stands for no version.
The sequencer is a time in seconds and nanoseconds, each with its lowest byte first, so that it
would not compare; it is kept with the highest first.
"""

from collections.abc import Mapping

import msgspec

from bucketcast.errors import BadEvent
from bucketcast.event import Event, to_millis
from bucketcast.event.names import translated
from bucketcast.sources import records

_META = "x-amz-meta-"
_WORD = 8
"""Hex digits of seconds, and of nanoseconds."""
_MOST = 2**63 - 1
_CURRENT_EXPIRED = "s3:ObjectLifecycle:Expiration:Current"
_MARKER_EXPIRED = "s3:LifecycleExpiration:DeleteMarkerCreated"
"""RGW says so, by AWS's name for something else, when a marker goes."""


class _Pair(msgspec.Struct, gc=False):
    key: str
    val: str


class _Object(records.Named):
    size: int | str | None = None
    metadata: list[_Pair] | None = None
    tags: list[_Pair] | None = None


_record = msgspec.json.Decoder(records.Record[_Object])


def recognises(fields: Mapping[str, msgspec.Raw], body: str) -> bool:
    """Return whether the records are RGW's."""
    return records.source(fields, body) == "ceph:s3"


def events(fields: Mapping[str, msgspec.Raw], _body: str) -> list[Event]:
    """Return the events of one message.

    Raises:
        BadEvent: `Records` is no list, or one record is broken: nothing of the message is used.
    """
    return [parse(raw) for raw in records.listed(fields)]


def parse(raw: msgspec.Raw) -> Event:
    """Return one record as an event.

    Raises:
        BadEvent: a field is missing or of another type (named by its path), the size is no
            number, or the record's major version is not 2.
    """
    record = records.decoded(_record, raw)
    item = record.s3.object
    name, original = translated(record.name)
    if original == _CURRENT_EXPIRED and item.version_id:
        name = "s3:ObjectRemoved:DeleteMarkerCreated"  # the versions stay
    elif original == _MARKER_EXPIRED:
        name = "s3:LifecycleDelMarkerExpiration:Delete"
    return Event(
        name,
        record.s3.bucket.name,
        item.key,
        to_millis(record.time),
        swapped(item.sequencer),
        raw,
        _size(item.size),
        item.etag or None,
        item.version_id or None,
        record.region,
        *record.who,
        metadata=_metadata(item.metadata),
        tags=None if item.tags is None else [(tag.key, tag.val) for tag in item.tags],
        original=original,
        dialect="ceph",
    )


def swapped(sequencer: str) -> str:
    """Return the sequencer with the bytes of its two numbers reversed; twice is the original.

    A sequencer of another length is not RGW's time and stays as it is.
    """
    if len(sequencer) != 2 * _WORD:
        return sequencer
    pairs = [sequencer[at : at + 2] for at in range(0, 2 * _WORD, 2)]
    half = _WORD // 2
    return "".join(pairs[:half][::-1] + pairs[half:][::-1])


def _size(given: int | str | None) -> int | None:
    if given is None or given == "":
        return None
    if isinstance(given, str) and not (given.isascii() and given.isdigit()):
        raise BadEvent("broken S3 record: Expected a number - at `$.s3.object.size`")
    size = int(given)
    if not 0 <= size <= _MOST:
        raise BadEvent("broken S3 record: Expected 0 to 2^63-1 - at `$.s3.object.size`")
    return size


def _metadata(pairs: list[_Pair] | None) -> dict[str, str] | None:
    """Return the user's metadata; in removals RGW lists request headers among them."""
    if pairs is None:
        return None
    return {pair.key: pair.val for pair in pairs if pair.key.startswith(_META)}
