"""Calls that are made one behind the other, and what became of the events that are in them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from bucketcast.errors import DeliveryError, Rejected

if TYPE_CHECKING:
    import redis

EVENTS_A_CALL = 250
"""Few enough that other users of the server wait some ms only, and Lua's stack of 8,000 holds."""
LARGEST_VALUE = 512 * 1024 * 1024 - 1024 * 1024
"""Redis takes a command's argument up to 512 MB."""
Command = tuple[str | bytes | int, ...]
T = TypeVar("T")


class Fates:
    """Of a batch's events, by place: `failures`, and `open`, of which nothing is known yet."""

    def __init__(self, count: int) -> None:
        self.failures: dict[int, DeliveryError] = {}
        self.open = set(range(count))

    def fail(self, failures: Mapping[int, DeliveryError]) -> None:
        self.failures.update(failures)
        self.open.difference_update(failures)

    def arrived(self, places: Iterable[int]) -> None:
        self.open.difference_update(places)


def exchanged(
    connection: "redis.Connection", calls: Iterable[tuple[T, Command]]
) -> Iterator[tuple[T, Any]]:
    """Make calls, each while the server works on the last; what each is about, with its answer.

    A refusal is an answer too.

    Raises:
        RedisError, OSError: the connection broke; the calls that are left have no answer.
    """
    from redis.exceptions import ResponseError  # noqa: PLC0415 - only its own function carries it

    sent: list[T] = []
    for about, command in calls:
        connection.send_command(*command)  # type: ignore[no-untyped-call]
        sent.append(about)
    for about in sent:
        try:
            answer: Any = connection.read_response()
        except ResponseError as error:
            answer = error
        yield about, answer


def fitting(value: bytes) -> bytes:
    """The value itself.

    Raises:
        Rejected: it is larger than Redis takes.
    """
    if len(value) > LARGEST_VALUE:
        raise Rejected(f"the event takes {len(value)} bytes; Redis takes {LARGEST_VALUE}")
    return value
