"""A batch as commands of a size that nsqd takes."""

import re
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from bucketcast.errors import DeliveryError, Rejected
from bucketcast.event import Event

PART = 32 * 1024
"""Bytes of a command's body: so few that nsqd has work while the next is made, and little beside
its --max-body-size, 5 MiB unless changed."""

_too_big = re.compile(r"MPUB (message|body) too big \d+ > (\d+)").search
_number = struct.Struct(">I").pack
_two_numbers = struct.Struct(">II").pack
_NUMBER = 4


class Limits(NamedTuple):
    """The largest message and body of a command, in bytes; nsqd tells them only by refusing."""

    message: int = sys.maxsize
    body: int = sys.maxsize

    def lowered(self, refusal: str) -> "Limits | None":
        """Return the limits with what this error names; None where it names nothing new."""
        found = _too_big(refusal)
        if not found or int(found[2]) >= getattr(self, found[1]):
            return None
        return self._replace(**{found[1]: int(found[2])})

    def refusal(self, size: int) -> str:
        """Return why a message of this size cannot be sent, or nothing."""
        if size > self.message:
            return f"nsqd takes {self.message}: see its --max-msg-size"
        if size + 2 * _NUMBER > self.body:
            return f"nsqd takes {self.body} with 8 beside it: see its --max-body-size"
        return ""


def commands(
    topic: str,
    events: Sequence[Event],
    start: int,
    message: Callable[[Event], bytes],
    limits: Limits,
    failures: dict[int, DeliveryError],
) -> Iterator[tuple[int, bytes]]:
    """Yield commands that publish the events from `start` on, behind the index after their last.

    What can never be sent is put into `failures`. A message larger than a part is one by itself.
    """
    head, most = f"MPUB {topic}\n".encode(), min(PART, limits.body)
    bodies: list[bytes] = []
    size = _NUMBER
    for index in range(start, len(events)):
        try:
            body = message(events[index])
        except UnicodeEncodeError as error:
            failures[index] = Rejected(f"no JSON can hold it: {error}")
            continue
        if why := limits.refusal(len(body)):
            failures[index] = Rejected(f"the event takes {len(body)} bytes; {why}")
            continue
        takes = _NUMBER + len(body)
        if bodies and size + takes > most:
            yield index, _command(head, size, bodies)
            bodies, size = [], _NUMBER
        bodies.append(body)
        size += takes
    if bodies:
        yield len(events), _command(head, size, bodies)


def _command(head: bytes, size: int, bodies: Sequence[bytes]) -> bytes:
    pieces = [head, _two_numbers(size, len(bodies))]
    for body in bodies:
        pieces += (_number(len(body)), body)
    return b"".join(pieces)
