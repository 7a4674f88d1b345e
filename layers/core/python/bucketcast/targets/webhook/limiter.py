"""The limit of requests in flight, found from what the endpoint answers.

==============================  ===================================================================
the endpoint                    the limit
==============================  ===================================================================
answers as quickly as before    grows: it doubles; after the first slowdown or refusal by an eighth,
                                and by a hundredth beyond the last number that was allowed
takes twice as long             is halved while that makes it quicker, but not below `START`. The
                                last time, which does not, is undone: the endpoint is as slow by
                                itself, and this latency becomes the measure
refuses a request               shrinks by one: of a hundred at an endpoint that allows twenty,
                                eighty are refused, and twenty remain
refuses even single requests    stays 1, and doubles again when one gets through
==============================  ===================================================================

Beyond what was allowed it grows by less than one in 200 requests, so no more of them are refused.
"""

from collections.abc import Sequence
from typing import Final

START: Final = 8
MIN_SAMPLE: Final = 32
"""Fewer requests say nothing: their mean is a matter of luck."""
USUAL: Final = 0.9
"""The slowest tenth may hang. The median would jump where half of the requests take longer."""
SLOWER: Final = 2.0
QUICKER: Final = 0.75
FAST: Final = 1.0
CAREFUL: Final = 1 / 8
UNKNOWN: Final = 1 / 100


class Limiter:
    """The limit for one endpoint, at most `cap`."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self.restart()

    def restart(self) -> None:
        """Forget what is known about the endpoint."""
        self._limit = float(min(START, self._cap))
        self._growth = FAST
        self._allowed = float("inf")
        self._latencies: list[float] = []
        self._unsettled = self.limit
        self._best = float("inf")
        self._is_slow = False
        self._trial: tuple[float, float] | None = None
        """The limit and the latency before it was halved to see what that does."""

    @property
    def limit(self) -> int:
        """How many requests may be in flight."""
        return int(self._limit)

    def record_success(self, latencies: Sequence[float], *, full: bool) -> None:
        """Record the seconds that delivered requests took; `full` if no more were allowed.

        Otherwise they say nothing about the limit.
        """
        if not full:
            return
        measured = self._latencies
        measured += latencies
        if len(measured) >= self._unsettled + max(self.limit, MIN_SAMPLE):
            sample = sorted(measured[self._unsettled :])
            measured.clear()
            # What is in flight was sent under this limit, and what comes next opens connections.
            self._unsettled = self.limit
            usual = sample[: round(USUAL * len(sample))]
            self._adapt(sum(usual) / len(usual))
            self._unsettled = max(self._unsettled, self.limit)

    def record_refusal(self) -> None:
        """Record that the endpoint refused a request because there were too many."""
        self._latencies.clear()
        self._trial = None
        if self.limit > 1:
            self._limit -= 1
            self._growth, self._allowed = CAREFUL, self._limit
        else:
            self._growth, self._allowed = FAST, float("inf")

    def _adapt(self, latency: float) -> None:
        trial, self._trial = self._trial, None
        if trial and latency >= QUICKER * trial[1]:
            self._limit, self._best = trial[0], latency
        elif trial and self._limit > START:
            self._halve(latency)
        else:
            self._best = min(self._best, latency)
            was_slow, self._is_slow = self._is_slow, latency > SLOWER * self._best
            if not self._is_slow:
                self._grow()
            elif was_slow:  # once may be a moment's pause, or the middle of a change
                self._halve(latency)

    def _halve(self, latency: float) -> None:
        self._is_slow = False
        self._growth = CAREFUL
        self._trial = self._limit, latency
        self._limit = max(self._limit / 2, min(self._limit, START))

    def _grow(self) -> None:
        grown = self._limit * (1 + self._growth)
        if grown > self._allowed:
            grown = self._allowed = max(self._allowed, self._limit * (1 + UNKNOWN))
        self._limit = min(grown, self._cap)
