"""What became of the events of a batch, and how many go into a call."""

from collections.abc import Iterable, Mapping

from bucketcast.errors import DeliveryError, Rejected

EVENTS_A_CALL = 250
"""Few enough that other users of the server wait some ms only, and Lua's stack of 8,000 holds."""
LARGEST_VALUE = 512 * 1024 * 1024 - 1024 * 1024
"""Redis takes a command's argument up to 512 MB."""


class Outcomes:
    """Of a batch's events, by index: `failures`, and `open`, of which nothing is known yet."""

    def __init__(self, count: int) -> None:
        self.failures: dict[int, DeliveryError] = {}
        self.open = set(range(count))

    def fail(self, failures: Mapping[int, DeliveryError]) -> None:
        self.failures.update(failures)
        self.open.difference_update(failures)

    def arrived(self, indexes: Iterable[int]) -> None:
        self.open.difference_update(indexes)


def fitting(value: bytes) -> bytes:
    """Return the value itself.

    Raises:
        Rejected: it is larger than Redis takes.
    """
    if len(value) > LARGEST_VALUE:
        raise Rejected(f"the event takes {len(value)} bytes; Redis takes {LARGEST_VALUE}")
    return value
