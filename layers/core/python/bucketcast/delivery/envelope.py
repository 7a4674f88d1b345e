"""The envelope on a queue: many events in one message, each with the rule it matched.

::

    {"v": 1, "events": [{"rule": "…", "created": …, "event": {…}}, …]}
    {"v": 1, "count": 200, "zstd": "base64 of that list"}

An event carries its original record, so a dead letter shows it, and events are formatted only when
they are sent. SQS bills by call and by 64 KB, and an event is about 1 KB that compresses tenfold
among similar ones. A message's history stands beside it (`delivery.policy.History`), so a message
that is sent again unopened keeps its body.
"""

import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from bucketcast.errors import BucketcastError
from bucketcast.event import Event, copy_id
from bucketcast.limits import (
    COMPRESS_PAST_BYTES,
    MAX_EVENTS,
    MAX_LISTED,
    MAX_UNPACKED,
    MESSAGE_BYTES,
)

if sys.version_info >= (3, 14):
    from compression import zstd as zstd  # noqa: PLC0414 - dead letters pack its large bodies with it
else:
    from backports import zstd as zstd  # noqa: PLC0414

VERSION = 1
MAX_BYTES = MESSAGE_BYTES - 8_192
"""An SQS message is 1 MiB at most, its attributes included; these take some of it."""
_LEVEL = 1
_MAYBE_ILLEGAL = b"\xef\xbf"
"""How U+FFFE and U+FFFF begin, which a key may hold and SQS refuses; base64 hides them."""


class NewerVersion(ValueError):
    """The envelope is for a newer release, as while an update or a rollback is in progress."""


class TooLarge(BucketcastError):
    """One event alone does not fit into a message; `index` is its position."""

    def __init__(self, reason: str, index: int) -> None:
        super().__init__(reason)
        self.index = index


class Delivery(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One event for one target, and the rule that it matched.

    `named`: `rule` is a name, not an id, and such a rule sends a copy of its own. `created` is
    when the event arrived, in Unix ms, 0 for when its message was sent. `reason` and `error` are
    those of its last failure where they are not its message's.
    """

    rule: str
    event: Event
    named: bool = False
    created: int = 0
    reason: str = ""
    error: str = ""

    @property
    def copy_id(self) -> str:
        """The event's id, distinct for each copy that a named rule sends to the same target."""
        return copy_id(self.event.id, self.rule if self.named else "")


class Envelope(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message's body; its events are decoded when it is opened."""

    v: int
    events: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    count: int = 0
    zstd: str = ""

    def open(self) -> list[Delivery]:
        """Return the deliveries.

        Raises:
            ValueError: the envelope holds something else.
        """
        with _translate_errors():
            if self.zstd:
                return _deliveries.decode(decompress(b64decode(self.zstd)))
            return _optional_deliveries.decode(self.events) or [] if self.events else []

    @property
    def number(self) -> int:
        """The number of events that the envelope states, counted if it states none."""
        try:
            listed = _optional_list.decode(self.events) if self.events else None
            return self.count or len(listed or ())
        except msgspec.MsgspecError:
            return 1


class _Versioned(msgspec.Struct):
    v: int = VERSION


class Packed(NamedTuple):
    """A message's body, and the half-open range of its deliveries."""

    body: str
    start: int
    stop: int


_encode = msgspec.json.Encoder().encode
_envelope = msgspec.json.Decoder(Envelope)
_versioned = msgspec.json.Decoder(_Versioned)
_deliveries = msgspec.json.Decoder(list[Delivery])
_optional_deliveries = msgspec.json.Decoder(list[Delivery] | None)
_optional_list = msgspec.json.Decoder(list[msgspec.Raw] | None)
_wrapper = msgspec.json.Decoder(dict[str, str])
_WINDOW = {int(zstd.DecompressionParameter.window_log_max): MAX_UNPACKED.bit_length() - 1}
"""The input chooses the decompressor's window, so it is capped."""


def pack(deliveries: Sequence[Delivery], max_events: int = MAX_EVENTS) -> Iterator[Packed]:
    """Yield messages with all deliveries in order, at most `max_events` in each.

    Raises:
        TooLarge: a single event is larger than a message may be; the earlier ones were yielded.
    """
    start = 0
    while start < len(deliveries):
        stop = _end(deliveries, start, max_events)
        yield from _pack(deliveries, start, stop)
        start = stop


def _end(deliveries: Sequence[Delivery], start: int, max_events: int) -> int:
    """Return the end of a message from `start` that stays within the unpacked limit."""
    room = MAX_LISTED
    for index in range(start, min(start + max_events, len(deliveries))):
        room -= memoryview(deliveries[index].event.record).nbytes
        if room < 0:
            return max(index, start + 1)
    return min(start + max_events, len(deliveries))


def _pack(deliveries: Sequence[Delivery], start: int, stop: int) -> Iterator[Packed]:
    part = list(deliveries[start:stop])
    listed = _encode(part)
    body = _encode(Envelope(VERSION, msgspec.Raw(listed)))
    illegal = _MAYBE_ILLEGAL in body
    if illegal or len(body) > COMPRESS_PAST_BYTES:
        text = b64encode(zstd.compress(listed, _LEVEL)).decode("ascii")
        packed = _encode(Envelope(VERSION, count=len(part), zstd=text))
        body = packed if illegal else min(packed, body, key=len)
    if len(body) <= MAX_BYTES and len(listed) <= MAX_UNPACKED:
        yield Packed(body.decode(), start, stop)
    elif len(part) == 1:
        raise TooLarge(f"the event takes {len(body)} bytes; a message holds {MAX_BYTES}", start)
    else:
        middle = (start + stop) // 2
        yield from _pack(deliveries, start, middle)
        yield from _pack(deliveries, middle, stop)


def read(body: str) -> Envelope:
    """Return an envelope without decoding its events.

    Raises:
        NewerVersion: the envelope is of a version that only a newer release reads.
        ValueError: the body is no envelope.
    """
    with _translate_errors():
        try:
            envelope = _envelope.decode(body)
        except msgspec.ValidationError:  # a newer envelope may have other fields
            _refuse_newer(_versioned.decode(body).v)
            raise
    _refuse_newer(envelope.v)
    return envelope


def _refuse_newer(version: int) -> None:
    if version > VERSION:
        raise NewerVersion(
            f"an envelope of version {version}; this release reads version {VERSION}"
        )


def unpack(body: str) -> list[Delivery]:
    """Return the deliveries of an envelope.

    Raises:
        NewerVersion: as `read`.
        ValueError: the body is no envelope.
    """
    return read(body).open()


def number_in(body: str) -> int:
    """Return the number of events that a body states; 1 if it is no readable envelope."""
    try:
        return read(body).number
    except ValueError:
        return 1


def is_envelope(body: str) -> bool:
    """Return True if a body is an envelope, whatever its version."""
    return body.startswith('{"v":')


def unwrap(body: str) -> str:
    """Return the body that `delivery.dead_letters` compressed to make room; any other as it is.

    Raises:
        ValueError: the compressed text is broken.
    """
    if not body.startswith('{"zstd"'):
        return body
    try:
        fields = _wrapper.decode(body)
    except msgspec.MsgspecError:
        return body
    if fields.keys() != {"zstd"}:
        return body
    with _translate_errors():
        return decompress(b64decode(fields["zstd"])).decode()


def decompress(packed: bytes, limit: int = MAX_UNPACKED) -> bytes:
    """Return the decompressed bytes.

    Raises:
        ValueError: it is more than `limit`, or cut short.
    """
    unpacker = zstd.ZstdDecompressor(options=_WINDOW)
    unpacked = unpacker.decompress(packed, limit + 1)
    if len(unpacked) > limit:
        raise ValueError(f"it unpacks to more than {limit:,} bytes, which is not opened")
    if not unpacker.eof:
        raise ValueError("the compressed text is cut short")
    return unpacked


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except (msgspec.MsgspecError, zstd.ZstdError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"no envelope of Bucketcast: {error}") from None
