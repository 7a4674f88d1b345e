"""The pace at which a spool is sent, and the time that it takes."""

import time
from typing import Final

from bucketcast.delivery.policy import keeps_order

ORDERED_PACE: Final = 130
"""The events a second that a FIFO queue gets: ten a call, and no call before the last is done."""
FOREVER: Final = float("inf")


class Pace:
    """The pace of one of several tasks that share a rate, in events a second; 0 means no limit.

    A call sends its events together, and the next call waits their share of time. A sender that
    was slow does not catch up afterwards. Nothing is sent after `until`, in Unix seconds.
    """

    def __init__(self, rate: int, tasks: int = 1, until: float = FOREVER) -> None:
        self._rate = rate / tasks
        self._until = until
        self._next_call = 0.0

    def wait(self, events: int) -> bool:
        """Wait until these events may be sent; return False if that is after the last moment."""
        now = time.monotonic()
        start = max(self._next_call, now)
        if time.time() + start - now > self._until:
            return False
        if self._rate:
            self._next_call = start + events / self._rate
        time.sleep(start - now)
        return True


def seconds_needed(events: int, rate: int, queue: str) -> float:
    """Return how long a queue's events take at a rate, at least; 0 if nothing limits them."""
    pace = min(rate or ORDERED_PACE, ORDERED_PACE) if keeps_order(queue) else rate
    return events / pace if pace else 0.0
