"""A rate as the moments at which it lets something go."""


class Pace:
    """At most so many events a second, of one sender; 0 is no limit.

    What goes at once is a whole call; the next waits until its events have had their time. A
    sender that was slow by itself is not let go faster afterwards.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._free = 0.0

    def wait(self, events: int, now: float) -> float:
        """The seconds to wait before these events go; `now` is of a clock that only grows."""
        if not self._rate:
            return 0.0
        start = max(self._free, now)
        self._free = start + events / self._rate
        return start - now
