"""What travels on a target's queue: many events in one message, each with the rule it matched.

::

    {"v": 1, "since": 1767323045678, "attempts": 0, "events": [{"rule": "…", "event": {…}}, …]}
    {"v": 1, "since": …, "count": 200, "zstd": "base64 of that list, compressed"}

An event carries its record as it came, so a dead message shows the original, and what waits is
shaped only when it is sent. SQS bills by call and by 64 KB, and an event is about 1 KB that
compresses tenfold beside its like. `since` (Unix ms) and `attempts` survive when part of a
message goes back as a message of its own.
"""

import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from bucketcast.errors import BucketcastError
from bucketcast.event import Event

if sys.version_info >= (3, 14):
    from compression import zstd as zstd  # noqa: PLC0414 - queues packs its large bodies with it
else:
    from backports import zstd as zstd  # noqa: PLC0414

MAX_BYTES = 1_048_576 - 4_096
"""An SQS message is 1 MiB at most, its attributes included; these take some of it."""
MAX_EVENTS = 1_000
"""One message is the unit of a retry, and of what a function holds in memory."""
COMPRESS_PAST_BYTES = 4_096
_LEVEL = 1
_MAYBE_ILLEGAL = b"\xef\xbf"
"""How U+FFFE and U+FFFF begin, which a key may hold and SQS refuses; base64 hides them."""


class TooLarge(BucketcastError):
    """One event alone does not fit into a message; `place` is where it stood."""

    def __init__(self, reason: str, place: int) -> None:
        super().__init__(reason)
        self.place = place


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """One event on its way to one target, and the id of the rule that sent it there."""

    rule: str
    event: Event


class Envelope(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message of a target's queue."""

    since: int
    v: int = 1
    attempts: int = 0
    events: list[Delivery] | None = None
    count: int = 0
    zstd: str = ""


class Packed(NamedTuple):
    """A message's body, and the half-open range of the deliveries it holds."""

    body: str
    start: int
    stop: int


_encode = msgspec.json.Encoder().encode
_envelope = msgspec.json.Decoder(Envelope)
_deliveries = msgspec.json.Decoder(list[Delivery])


def pack(
    deliveries: Sequence[Delivery], since: int, *, attempts: int = 0, most: int = MAX_EVENTS
) -> Iterator[Packed]:
    """Messages that hold all deliveries in their order, `most` in one at the most.

    Raises:
        TooLarge: a single event is larger than a message may be; the earlier ones were given.
    """
    for start in range(0, len(deliveries), most):
        yield from _pack(deliveries, start, min(start + most, len(deliveries)), since, attempts)


def _pack(
    deliveries: Sequence[Delivery], start: int, stop: int, since: int, attempts: int
) -> Iterator[Packed]:
    part = list(deliveries[start:stop])
    listed = _encode(part)
    body = _encode(Envelope(since, attempts=attempts, events=cast("Any", msgspec.Raw(listed))))
    illegal = _MAYBE_ILLEGAL in body
    if illegal or len(body) > COMPRESS_PAST_BYTES:
        text = b64encode(zstd.compress(listed, _LEVEL)).decode("ascii")
        packed = _encode(Envelope(since, attempts=attempts, count=len(part), zstd=text))
        body = packed if illegal else min(packed, body, key=len)
    if len(body) <= MAX_BYTES:
        yield Packed(body.decode(), start, stop)
    elif len(part) == 1:
        raise TooLarge(f"the event takes {len(body)} bytes; a message holds {MAX_BYTES}", start)
    else:
        middle = (start + stop) // 2
        yield from _pack(deliveries, start, middle, since, attempts)
        yield from _pack(deliveries, middle, stop, since, attempts)


def unpack(body: str) -> tuple[Envelope, list[Delivery]]:
    """The envelope and its deliveries.

    Raises:
        ValueError: the body is no envelope of this version.
    """
    try:
        envelope = _envelope.decode(body)
        if envelope.v != 1:
            raise ValueError(f"an envelope of version {envelope.v}; this release reads version 1")
        if not envelope.zstd:
            return envelope, envelope.events or []
        return envelope, _deliveries.decode(zstd.decompress(b64decode(envelope.zstd)))
    except (msgspec.MsgspecError, zstd.ZstdError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"no envelope of Bucketcast: {error}") from None
