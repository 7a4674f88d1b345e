"""A limit on the events sent per second."""

import time
from typing import Final

_CATCH_UP: Final = 0.25
"""Seconds of delay by calls that the limiter makes up for."""


class RateLimit:
    """Computes how long to wait; a `rate` of None is no limit."""

    def __init__(self, rate: float | None) -> None:
        self._rate = rate
        self._free = time.monotonic()

    def spend(self, events: int) -> None:
        """Count events that were sent now."""
        if self._rate:
            self._free = max(self._free, time.monotonic() - _CATCH_UP) + events / self._rate

    def wait(self) -> float:
        """Return the seconds until the next events may be sent."""
        return max(0.0, self._free - time.monotonic()) if self._rate else 0.0
