"""A batch as commands that respect nsqd's limits."""

import re
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from bucketcast.errors import DeliveryError
from bucketcast.event import Event
from bucketcast.targets.base.answers import TooLargeError

PART = 32 * 1024
"""Bytes of a command's body: small, so that nsqd works while the next is encoded, and far below the
default --max-body-size, 5 MiB."""

_too_big = re.compile(r"MPUB (message|body) too big \d+ > (\d+)").search
_number = struct.Struct(">I").pack
_two_numbers = struct.Struct(">II").pack
_NUMBER = 4


class Limits(NamedTuple):
    """nsqd's largest message and command body in bytes, which it only announces in errors."""

    message: int = sys.maxsize
    body: int = sys.maxsize

    def lower(self, error: str) -> "Limits | None":
        """Return the limits with the one in this error; None if it has no lower one."""
        match = _too_big(error)
        if not match or int(match[2]) >= getattr(self, match[1]):
            return None
        return self._replace(**{match[1]: int(match[2])})

    @property
    def largest(self) -> int:
        """The largest message that can be sent, in bytes."""
        return min(self.message, self.body - 2 * _NUMBER)

    def refusal(self, size: int) -> TooLargeError:
        """Return the error of a message that is larger."""
        limits = f"nsqd takes {self.largest}: see its --max-msg-size and --max-body-size"
        return TooLargeError(f"the event takes {size} bytes; {limits}")


def commands(
    topic: str,
    events: Sequence[Event],
    start: int,
    encode: Callable[[Event], bytes],
    limits: Limits,
    failures: dict[int, DeliveryError],
) -> Iterator[tuple[int, bytes]]:
    """Yield the index after a command's last event, and the command, for the events from `start`.

    Events that are too large are added to `failures`. A message larger than `PART` is a command
    by itself.
    """
    head, limit, largest = f"MPUB {topic}\n".encode(), min(PART, limits.body), limits.largest
    pieces: list[bytes] = []
    size = _NUMBER
    for index in range(start, len(events)):
        body = encode(events[index])
        length = len(body)
        if length > largest:
            failures[index] = limits.refusal(length)
            continue
        if pieces and size + _NUMBER + length > limit:
            yield index, _join_command(head, size, pieces)
            pieces, size = [], _NUMBER
        pieces += (_number(length), body)
        size += _NUMBER + length
    if pieces:
        yield len(events), _join_command(head, size, pieces)


def _join_command(head: bytes, size: int, pieces: list[bytes]) -> bytes:
    return b"".join((head, _two_numbers(size, len(pieces) // 2), *pieces))
