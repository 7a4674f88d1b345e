"""The limit of requests in flight, found from what the endpoint answers.

==============================  ===================================================================
the endpoint                    the limit
==============================  ===================================================================
answers as quickly as before    grows: it doubles; after the first slowdown or refusal by an eighth,
                                and by a hundredth beyond the last number that was allowed
takes twice as long             is halved, but not below `START`. If that does not make it quicker,
                                it is slow by itself, and its new latency becomes the measure
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
"""Fewer requests say nothing: their median is a matter of luck."""
SLOWER: Final = 2.0
QUICKER: Final = 0.75
FAST: Final = 1.0
CAREFUL: Final = 1 / 8
UNKNOWN: Final = 1 / 100


class Limiter:
    """The limit for one endpoint, at most `cap`."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._limit = float(min(START, cap))
        self._growth = FAST
        self._allowed = float("inf")
        self._latencies: list[float] = []
        self._unsettled = self.limit
        self._best = float("inf")
        self._is_slow = False
        self._before_halving = 0.0

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
            self._adapt(sample[len(sample) // 2])
            self._unsettled = max(self._unsettled, self.limit)

    def record_refusal(self) -> None:
        """Record that the endpoint refused a request because there were too many."""
        self._latencies.clear()
        if self.limit > 1:
            self._limit -= 1
            self._growth, self._allowed = CAREFUL, self._limit
        else:
            self._growth, self._allowed = FAST, float("inf")

    def _adapt(self, latency: float) -> None:
        if latency > QUICKER * self._before_halving > 0:
            self._best = latency
        self._before_halving = 0.0
        self._best = min(self._best, latency)
        was_slow, self._is_slow = self._is_slow, latency > SLOWER * self._best
        if not self._is_slow:
            self._grow()
        elif was_slow:  # once may be a moment's pause, or the middle of a change
            self._is_slow = False
            self._before_halving = latency
            self._growth = CAREFUL
            self._limit = max(self._limit / 2, min(self._limit, START))

    def _grow(self) -> None:
        grown = self._limit * (1 + self._growth)
        if grown > self._allowed:
            grown = self._allowed = max(self._allowed, self._limit * (1 + UNKNOWN))
        self._limit = min(grown, self._cap)
