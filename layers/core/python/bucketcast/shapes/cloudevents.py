"""CloudEvents 1.0, after the specification's adapter for Amazon S3.

Structured: one JSON document with the S3 record as its `data`. Binary: the record alone, and the
attributes beside it in the headers of the transport. Source: "AWS Simple Storage Service Event
Adapter" and "JSON Event Format" of the CloudEvents specification. If one request causes several
events, as DeleteObjects does, the adapter's `id` would repeat: a third part makes it unique. The
`source` begins with the record's `eventSource`, `aws:s3`; `shapes.ceph` has RGW's own. `sequence`
is S3's sequencer with leading zeros, so that it compares as text.
"""

from urllib.parse import quote

import msgspec

from bucketcast.event import Event, padded
from bucketcast.shapes import aws

STRUCTURED = "application/cloudevents+json"
_PLAIN = "".join(map(chr, range(0x21, 0x7F))).translate({ord('"'): None, ord("%"): None})
_encode = msgspec.json.Encoder().encode


class _Event(msgspec.Struct, gc=False, omit_defaults=True):
    specversion: str = msgspec.UNSET  # type: ignore[assignment]  # always there
    id: str = ""
    source: str = ""
    type: str = ""
    subject: str = ""
    time: str = ""
    datacontenttype: str = ""
    sequence: str = ""
    data: object = None


def attributes(event: Event) -> dict[str, str]:
    """Return the context attributes without `datacontenttype`: transports have their own."""
    pairs = {
        "specversion": "1.0",
        "id": _id(event),
        "source": f"aws:s3.{event.region}.{event.bucket}",
        "type": f"com.amazonaws.s3.{aws.name(event)}",
        "subject": aws.key(event),
        "time": event.time,
    }
    if event.sequencer:
        pairs["sequence"] = padded(event.sequencer)
    return pairs


def structured(event: Event) -> bytes:
    """Return the whole event as one JSON document."""
    return _encode(
        _Event(**attributes(event), datacontenttype="application/json", data=aws.record(event))
    )


def data(event: Event) -> bytes:
    """Return the body in binary mode: the S3 record."""
    return _encode(aws.record(event))


def in_header(value: str) -> str:
    """Return an attribute as the HTTP and NATS bindings write it, in printable ASCII."""
    return quote(value, safe=_PLAIN)


def _id(event: Event) -> str:
    parts = (event.request_id, event.host_id, event.id[:16])
    return ".".join(filter(None, parts))
