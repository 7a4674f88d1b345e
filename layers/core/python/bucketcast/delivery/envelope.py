"""The envelope on a queue: many events in one message, each with the rule it matched.

::

    {"v": 1, "copies": [{"rule": "…"}], "count": 2, "listed": {…}}
    {"v": 1, "copies": [{"rule": "…"}], "count": 200, "zstd": "base64 of what is listed"}

Events stand in columns, with their original records (`delivery.columns`), so a dead letter shows
these, and events are formatted only when they are sent. SQS bills by call and by 64 KB. What
belongs to one destination, such as the rule, is apart from the events, so they are packed once for
all destinations. A message's history stands beside the body (`delivery.policy.History`), so a
message that is sent again unopened keeps its body.
"""

from base64 import b64decode, b64encode
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from operator import attrgetter
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec.structs import astuple

from bucketcast.delivery.columns import decode, encode, size_of
from bucketcast.delivery.compression import compress, decompress
from bucketcast.errors import BucketcastError
from bucketcast.event import Event, copy_id
from bucketcast.limits import (
    COMPRESS_PAST_BYTES,
    MESSAGE_BYTES,
    MESSAGE_EVENTS,
    MESSAGE_RECORDS_BYTES,
    UNPACKED_BYTES,
)

VERSION = 1
MAX_BYTES = MESSAGE_BYTES - 8_192
"""An SQS message is 1 MiB at most, its attributes included; these take some of it."""


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


class _Copy(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of a delivery that does not depend on its event."""

    rule: str
    named: bool = False
    reason: str = ""
    error: str = ""


class Envelope(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message's body; its events are decoded when it is opened.

    `copy_of` has the index in `copies` for each event; without it all have the first.
    """

    v: int
    copies: list[_Copy]
    count: Annotated[int, msgspec.Meta(ge=1, le=MESSAGE_EVENTS)] = 1
    copy_of: list[Annotated[int, msgspec.Meta(ge=0)]] = []
    listed: msgspec.Raw = msgspec.Raw()
    zstd: str = ""

    def open(self, created: int = 0) -> list[Delivery]:
        """Return the deliveries; `created` is for events that have no time of their own.

        Raises:
            ValueError: the envelope holds something else.
        """
        with _translate_errors():
            text = decompress(b64decode(self.zstd)) if self.zstd else bytes(self.listed)
            rules, named, reasons, errors = self._copies()
            events, arrived = decode(text, rules, named, self.count)
        arrived = [time or created for time in arrived]
        return list(map(Delivery, rules, events, named, arrived, reasons, errors))

    def _copies(self) -> Sequence[Sequence[Any]]:
        """Return a column for each field of the copy that each event is.

        Raises:
            ValueError: not every event has one.
        """
        numbers = self.copy_of or [0] * self.count
        if len(numbers) != self.count or max(numbers) >= len(self.copies):
            raise ValueError("not every event is one of its copies")
        columns = zip(*map(astuple, self.copies), strict=True)
        if len(self.copies) == 1:  # as nearly always
            return [column * self.count for column in columns]
        return [[column[number] for number in numbers] for column in columns]


class _Events(NamedTuple):
    """Packed events: their member of the envelope, and how many bytes they unpack to.

    They are kept with it, or their ids would be used again.
    """

    text: bytes
    unpacked: int
    events: Sequence[Event]


Texts = dict[tuple[int, ...], _Events]
"""The events that were packed already, by their ids in Python."""


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
_stored = attrgetter("event.stored")
_of_copy = attrgetter(*_Copy.__struct_fields__)


def pack(
    deliveries: Sequence[Delivery], max_events: int = MESSAGE_EVENTS, texts: Texts | None = None
) -> Iterator[Packed]:
    """Yield messages with all deliveries in order, at most `max_events` in each.

    Where the same events go to many destinations, pass the same `texts` each time.

    Raises:
        TooLarge: a single event is larger than a message may be; the earlier ones were yielded.
    """
    start, texts = 0, {} if texts is None else texts
    while start < len(deliveries):
        stop = _end(deliveries, start, max_events)
        yield from _pack(deliveries, start, stop, texts)
        start = stop


def _end(deliveries: Sequence[Delivery], start: int, max_events: int) -> int:
    """Return the end of a message from `start` that stays within the unpacked limit."""
    stored = map(_stored, deliveries[start : start + max_events])
    sizes = list(accumulate(map(size_of, stored)))
    return start + max(1, bisect_right(sizes, MESSAGE_RECORDS_BYTES))


def _pack(deliveries: Sequence[Delivery], start: int, stop: int, texts: Texts) -> Iterator[Packed]:
    part = deliveries[start:stop]
    copies = [*map(_of_copy, part)]
    numbers = {copy: number for number, copy in enumerate(dict.fromkeys(copies))}
    copy_of = [numbers[copy] for copy in copies] if len(numbers) > 1 else []
    envelope = Envelope(VERSION, [_Copy(*copy) for copy in numbers], len(part), copy_of)
    events = _pack_events(part, texts)
    body = _escape(b"%b,%b}" % (_encode(envelope)[:-1], events.text))
    if len(body) <= MAX_BYTES and events.unpacked <= UNPACKED_BYTES:
        yield Packed(body.decode(), start, stop)
    elif len(part) == 1:
        raise TooLarge(f"the event takes {len(body)} bytes; a message holds {MAX_BYTES}", start)
    else:
        middle = (start + stop) // 2
        yield from _pack(deliveries, start, middle, texts)
        yield from _pack(deliveries, middle, stop, texts)


def _pack_events(part: Sequence[Delivery], texts: Texts) -> _Events:
    """Return the events of deliveries, packed now or before."""
    events = [each.event for each in part]
    key = tuple(map(id, events))
    if key not in texts:
        listed = encode(events, [each.created for each in part])
        text = b'"listed":%b' % listed
        if len(listed) > COMPRESS_PAST_BYTES:
            packed = b'"zstd":"%b"' % b64encode(compress(listed, 1))
            text = min(text, packed, key=len)
        texts[key] = _Events(text, len(listed), events)
    return texts[key]


def _escape(body: bytes) -> bytes:
    """Return the same JSON without the characters that SQS refuses."""
    if b"\xef\xbf" not in body:  # as they begin, and hardly anything else
        return body
    return body.replace(b"\xef\xbf\xbe", rb"\ufffe").replace(b"\xef\xbf\xbf", rb"\uffff")


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


def unpack(body: str, created: int = 0) -> list[Delivery]:
    """Return the deliveries of an envelope; `created` as in `Envelope.open`.

    Raises:
        NewerVersion: as `read`.
        ValueError: the body is no envelope.
    """
    return read(body).open(created)


def number_in(body: str) -> int:
    """Return the number of events that a body states; 1 if it is no readable envelope."""
    try:
        return read(body).count
    except ValueError:
        return 1


def is_envelope(body: str) -> bool:
    """Return True if a body is an envelope, whatever its version."""
    return body.startswith('{"v":')


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"no envelope of Bucketcast: {error}") from None
