"""A limit on the events sent per second."""


class RateLimit:
    """A limit of `rate` events a second for one sender; 0 is no limit.

    A call sends its events together, and the next call waits their share of time. A sender that
    was slow by itself does not catch up afterwards.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._free = 0.0

    def wait(self, events: int, now: float) -> float:
        """Return the seconds to wait before sending these events; `now` is a monotonic clock's."""
        if not self._rate:
            return 0.0
        start = max(self._free, now)
        self._free = start + events / self._rate
        return start - now
