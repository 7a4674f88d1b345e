"""The pace at which a spool is sent, and the time that it takes."""

from typing import Final

from bucketcast.delivery.policy import keeps_order
from bucketcast.errors import BucketcastError

ORDERED_PACE: Final = 130
"""The events a second that a FIFO queue gets: ten a call, and no call before the last is done."""


class RateLimit:
    """A limit of `rate` events a second for one sender; 0 means no limit.

    A call sends its events together, and the next call waits their share of time. A sender that
    was slow does not catch up afterwards.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._next_call = 0.0

    def reserve(self, events: int, now: float) -> float:
        """Return the seconds to wait before sending these events; `now` is a monotonic clock's."""
        if not self._rate:
            return 0.0
        start = max(self._next_call, now)
        self._next_call = start + events / self._rate
        return start - now


def seconds_needed(events: int, rate: int, queue: str) -> float:
    """Return how long a queue's events take at a rate, at least; 0 if nothing limits them."""
    pace = min(rate or ORDERED_PACE, ORDERED_PACE) if keeps_order(queue) else rate
    return events / pace if pace else 0.0


def check_time(events: int, rate: int, queue: str, remaining: float, hint: str) -> None:
    """Refuse to begin what takes longer than the seconds that remain of a run.

    Raises:
        BucketcastError: it does; `hint` says what to do besides.
    """
    needed = seconds_needed(events, rate, queue)
    if needed <= remaining:
        return
    if keeps_order(queue) and not 0 < rate < ORDERED_PACE:
        at, cure = f"about {ORDERED_PACE} a second, as a FIFO queue takes them", "raise"
    else:
        at, cure = f"--rate {rate}", "raise --rate, or"
    raise BucketcastError(
        f"{events:,} events take {needed / 3600:.2f} hours at {at}, and this run ends in "
        f"{max(0.0, remaining) / 3600:.2f} hours: {cure} the timeout in [pipeline], {hint}"
    )
