"""The latency of events from S3 to their target, as a histogram that CloudWatch takes.

A batch may deliver thousands of events, so a few values are written with their counts, from which
CloudWatch makes any percentile. A value is at most 12 % off.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from typing import Final

from bucketcast.event import AGENT, Event
from bucketcast.telemetry import Histogram

MOST_VALUES: Final = 100
"""CloudWatch drops a metric that has more."""
_LEAST: Final = 10.0  # milliseconds; what is quicker counts as this
_GROWTH: Final = 1.25
_LOG: Final = math.log(_GROWTH)


def histogram(events: Iterable[Event], now: float) -> Histogram:
    """Return the latencies of delivered events; `now` is when they were, in Unix seconds.

    Events that our own jobs make are left out: their time is the object's. So are those whose time
    is no date. A source whose clock is ahead of ours makes a latency of zero.
    """
    times = [event.time for event in events if not event.user_agent.startswith(AGENT)]
    impossible = {second for second in {time[:19] for time in times} if _epoch(second) is None}
    if impossible:
        times = [time for time in times if time[:19] not in impossible]
    times.sort()

    def bucket(time: str) -> int:
        return _bucket(now - (_epoch(time[:19]) or 0) - int(time[20:23]) / 1_000)

    counts: dict[float, int] = {}
    start = 0
    while start < len(times):  # few are looked at: in order of time, those of a bucket are together
        first = bucket(times[start])
        stop = bisect_right(times, -first, start, key=lambda time: -bucket(time))
        counts[_value(first)] = stop - start
        start = stop
    return Histogram(counts)


@lru_cache(maxsize=256)
def _epoch(second: str) -> float | None:
    """Return a time without its decimals in Unix seconds; None if it is no date."""
    with suppress(ValueError):
        return datetime.fromisoformat(f"{second}Z").timestamp()
    return None


def _bucket(seconds: float) -> int:
    """Return the bucket of a latency: each is a quarter wider than the one before.

    -1 is for no time at all, and the last has all from a year on.
    """
    tens = seconds * 1_000 / _LEAST
    if tens <= 1:
        return 0 if tens > 0 else -1
    return min(math.ceil(math.log(tens) / _LOG), MOST_VALUES - 2)


def _value(bucket: int) -> float:
    """Return the milliseconds that stand for a bucket: its middle."""
    return 0.0 if bucket < 0 else round(_LEAST * math.pow(_GROWTH, bucket - 0.5), 1)
