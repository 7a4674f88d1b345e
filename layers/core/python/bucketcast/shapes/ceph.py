"""Ceph RGW's record, as its push endpoints send it.

`{"Records": [one]}`. Source: "Bucket Notifications" of the Ceph documentation, and bodies captured
from a running RGW: version 2.2, the name without `s3:`, the key not encoded, the size a number,
metadata and tags as lists, "" for no version, and an `eventId` that begins with a time. RGW writes
the two numbers of its sequencer, seconds and nanoseconds, with the lowest byte first; so does this
module.
"""

from collections.abc import Callable
from datetime import datetime

import msgspec

from bucketcast.event import Event, padded
from bucketcast.event.names import in_ceph
from bucketcast.shapes import cloudevents
from bucketcast.shapes.records import S3, Bucket, Identity, Record, Request, Response

_SEQUENCER = 16
_WORD = 8
"""Hex digits of the sequencer's seconds, and of its nanoseconds."""
_encode = msgspec.json.Encoder().encode


class _Bucket(Bucket):
    id: str


class _Pair(msgspec.Struct, gc=False):
    key: str
    val: str


class _Object(msgspec.Struct, gc=False):
    key: str
    size: int
    eTag: str
    versionId: str
    sequencer: str
    metadata: list[_Pair]
    tags: list[_Pair]


class _Record(Record[Request, Response, _Bucket, _Object]):
    eventId: str
    opaqueData: str


class _Records(msgspec.Struct, gc=False):
    Records: tuple[_Record]


def writer(opaque_data: str) -> Callable[[Event], bytes]:
    """Return the writer of events of a topic with this `OpaqueData`."""

    def message(event: Event) -> bytes:
        return _encode(_Records((_record(event, opaque_data),)))

    return message


def _record(event: Event, opaque_data: str) -> _Record:
    """Return the record as RGW would have written it."""
    return _Record(
        "2.2",
        "ceph:s3",
        event.region,
        event.time,
        in_ceph(event).removeprefix("s3:"),
        Identity(event.principal),
        Request(event.source_ip),
        Response(event.request_id, event.host_id),
        S3(
            "1.0",
            event.rule,
            _Bucket(
                event.bucket,
                Identity(event.owner),
                f"arn:aws:s3:{event.region}::{event.bucket}",
                "",
            ),
            _Object(
                event.key,
                event.size or 0,
                event.etag or "",
                event.version_id or "",
                _sequencer(event),
                [_Pair(*pair) for pair in sorted((event.metadata or {}).items())],
                [_Pair(*pair) for pair in event.tags or ()],
            ),
        ),
        _id(event),
        opaque_data,
    )


def attributes(event: Event) -> dict[str, str]:
    """Return the attributes of CloudEvents' adapter for S3, for headers.

    The key is as in the record, and the source begins with the record's own `eventSource`.
    """
    name = in_ceph(event).removeprefix("s3:")
    return cloudevents.attributes(event) | {
        "source": f"ceph:s3.{event.region}.{event.bucket}",
        "type": f"com.amazonaws.s3.{name}",
        "subject": event.key,
    }


def _sequencer(event: Event) -> str:
    """Return RGW's 16 digits, or all of them if they do not fit."""
    digits = padded(event.sequencer)
    short = digits and not digits[:-_SEQUENCER].strip("0")
    if not short:
        return event.sequencer
    pairs = [digits[-_SEQUENCER:].upper()[at : at + 2] for at in range(0, _SEQUENCER, 2)]
    half = _WORD // 2
    return "".join(pairs[:half][::-1] + pairs[half:][::-1])


def _id(event: Event) -> str:
    """Return the event's time and the id of its copy: each notification sends its own.

    RGW has an ETag after its time, which has six decimals. S3 has three and no ETag in removals:
    all objects of one DeleteObjects would have the same id. S3 sends an event's time with decimals
    in notifications and without them to EventBridge, so its sequencer stands for them.
    """
    order = f"{padded(event.sequencer)}." if event.sequencer else ""
    try:
        time = datetime.fromisoformat(event.time)
    except ValueError:  # a leap second, or an impossible date
        return f"{event.time}.{order}{event.copy_id}"
    return f"{int(time.timestamp()):010}.000000.{order}{event.copy_id}"
