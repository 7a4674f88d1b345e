"""The pace at which a spool is sent, and the time that it takes."""

import time
from typing import Final

from bucketcast.delivery.policy import keeps_order
from bucketcast.errors import BucketcastError

ORDERED_PACE: Final = 130
"""The events a second that a FIFO queue gets: ten a call, and no call before the last is done."""
FOREVER: Final = float("inf")


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


class Pace:
    """The pace of one of several tasks that share a rate, in events a second; 0 means no limit.

    Nothing is sent after `until`, in Unix seconds.
    """

    def __init__(self, rate: int, tasks: int = 1, until: float = FOREVER) -> None:
        self._until = until
        self._limit = RateLimit(rate / tasks)

    def wait(self, events: int) -> bool:
        """Wait until these events may be sent; return False if that is after the last moment."""
        seconds = self._limit.reserve(events, time.monotonic())
        if time.time() + seconds > self._until:
            return False
        time.sleep(seconds)
        return True


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
