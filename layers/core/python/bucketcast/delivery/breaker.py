"""The circuit breaker of a target, shared by all functions that send to it.

::

    closed ──── no answer ────► open ──── its pause is over ────► one event goes alone
      ▲                          ▲ └─────────── the others wait ──────────┐    │
      │                          └──────────── no answer ─────────────────┼────┤
      └──────── an answer that does not wait for the target's repair ─────┴────┘

What opens it is said by `delivery.ruling`. After a change of the target's settings it is probed at
once.

A target that was paused (`bucketcast target pause`) is not tried at all until it is resumed.
"""

import enum
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

from bucketcast.errors import DeliveryError, Throttled
from bucketcast.limits import (
    AGE_PER_PAUSE,
    BREAKER_TRUSTED_MS,
    LONGEST_DELAY_SECONDS,
    LONGEST_OUTAGE_PAUSE_SECONDS,
)


class Outage(NamedTuple):
    """An outage of a target, or a pause, or refusals that may be one; times are Unix ms.

    `since` is when the outage was first seen, 0 for none, and `next` when the target may be tried
    again. A probe is in progress until `probing`, 0 for none. `tries` failed; `error` and `reason`
    are those of the last, and `settings` stands for the settings with which it failed. `paused` is
    since when the target is paused, 0 if it is not. Since it took an event it refused so many as
    `refusals` with the settings `counted`; it `took` one with these settings, None if it never did.
    """

    since: int
    next: int
    probing: int = 0
    tries: int = 1
    error: str = ""
    reason: str = ""
    paused: int = 0
    settings: str = ""
    refusals: int = 0
    counted: str | None = None
    took: str | None = None

    @property
    def holds_back(self) -> bool:
        """Whether there is an outage or a pause."""
        return bool(self.since or self.paused)

    def pause(self, now: int) -> int:
        """Return the pause in ms until it is tried again: a part of the time since it began."""
        age = now - (self.paused or self.since)
        return min(max(age // AGE_PER_PAUSE, 1_000), LONGEST_OUTAGE_PAUSE_SECONDS * 1_000)


class BreakerStore(Protocol):
    """Where the outage of one target is stored, shared by all functions that send to it.

    `record` adds another failure: `since` counts only if there is no outage yet, and `probed` ends
    the probe in progress. `start_probe` lets exactly one caller probe, until the given time.
    `count_refusals` returns all with these settings since the target took an event.
    `clear` ends the outage, but no pause; `took` are the settings with which it took an event.
    """

    def read(self) -> Outage | None: ...

    def record(self, outage: Outage, *, probed: bool) -> Outage: ...

    def start_probe(self, now: int, until: int) -> bool: ...

    def count_refusals(self, number: int, settings: str, now: int) -> int: ...

    def clear(self, took: str | None, now: int) -> None: ...


_NONE = Outage(0, 0, tries=0)


class LocalStore:
    """A `BreakerStore` of a single function."""

    def __init__(self) -> None:
        self.outage: Outage | None = None

    def read(self) -> Outage | None:
        return self.outage

    def record(self, outage: Outage, *, probed: bool) -> Outage:
        before = self.outage or _NONE
        self.outage = before._replace(
            since=before.since or outage.since,
            next=outage.next,
            probing=0 if probed else before.probing,
            tries=before.tries + 1,
            error=outage.error,
            reason=outage.reason,
            settings=outage.settings,
        )
        return self.outage

    def start_probe(self, now: int, until: int) -> bool:
        outage = self.outage
        if outage is None or not outage.since or now < max(outage.next, outage.probing):
            return False
        self.outage = outage._replace(probing=until)
        return True

    def count_refusals(self, number: int, settings: str, now: int) -> int:  # noqa: ARG002
        before = self.outage or _NONE
        number += before.refusals if before.counted == settings else 0
        self.outage = before._replace(refusals=number, counted=settings)
        return number

    def clear(self, took: str | None, now: int) -> None:  # noqa: ARG002
        kept = self.outage or _NONE
        if took is not None:
            kept = kept._replace(refusals=0, counted=took, took=took)
        kept = kept._replace(since=0, next=0, probing=0, tries=0, error="", reason="", settings="")
        self.outage = None if kept == _NONE else kept


class BreakerState(enum.Enum):
    """The part of a batch that may be sent: all of it, one event as a probe, or nothing."""

    CLOSED = enum.auto()
    HALF_OPEN = enum.auto()
    OPEN = enum.auto()
    PAUSED = enum.auto()


class Breaker:
    """The circuit breaker of one target, as one function sees it.

    `longest_pause` is the most seconds between two tries, where a topic's policy limits them.
    `settings` stands for those of the target: any text that changes with them. With these it `took`
    an event.
    """

    def __init__(self, store: BreakerStore, settings: str = "") -> None:
        self._settings = settings
        self.longest_pause: int | None = None
        self._store = store
        self._read_at = 0
        self._probing = self._opened = self._refused = self.took = False
        self.outage: Outage | None = None

    def begin_batch(self, max_seconds: Callable[[], float]) -> BreakerState:
        """Return the state for this batch; `max_seconds` returns those that a probe may take."""
        self._probing = self._opened = False
        if self.is_paused():
            return BreakerState.PAUSED
        now, outage = _now(), self.outage
        if outage is None:
            return BreakerState.CLOSED
        is_due = now >= outage.next or outage.settings != self._settings
        if not is_due or now < outage.probing:
            return BreakerState.OPEN
        until = now + round(max_seconds() * 1_000)
        self._probing = self._store.start_probe(max(now, outage.next), until)
        if self._probing:
            return BreakerState.HALF_OPEN
        self.outage = outage._replace(probing=until)  # another function was quicker
        return BreakerState.OPEN

    def is_paused(self) -> bool:
        """Return True if the target is paused."""
        now = _now()
        if self.outage is not None or not 0 <= now - self._read_at < BREAKER_TRUSTED_MS:
            found, self._read_at = self._store.read(), now
            self.took = found is not None and found.took == self._settings
            self._refused = found is not None and found.refusals > 0
            self.outage = found if found and found.holds_back else None
        return self.outage is not None and self.outage.paused > 0

    @property
    def age(self) -> int:
        """The ms for which the target has been in trouble."""
        return _now() - self.outage.since if self.outage else 0

    def count_refusals(self, number: int) -> int:
        """Count refusals of events; return those of all functions since the target took one."""
        self._refused = True
        return self._store.count_refusals(number, self._settings, _now())

    def record_success(self, *, took: bool = True) -> None:
        """Record that the target answered, and whether it took an event."""
        if self._probing or self._opened or (took and (self._refused or not self.took)):
            self._store.clear(self._settings if took else None, _now())
            self.outage, self._probing, self._opened = None, False, False
            self.took, self._refused = self.took or took, self._refused and not took

    def record_failure(self, error: DeliveryError) -> None:
        """Record that the target did not answer."""
        now = _now()
        since = self.outage.since if self.outage else now
        outage = Outage(
            since, now, error=type(error).__name__, reason=str(error), settings=self._settings
        )
        after = min(error.after, LONGEST_DELAY_SECONDS) if isinstance(error, Throttled) else 0
        pause = max(outage.pause(now), round(after * 1_000))
        outage = outage._replace(next=now + self._limit(pause))
        self.outage = self._store.record(outage, probed=self._probing)
        self._probing, self._opened = False, True

    def pause(self) -> int:
        """Return the seconds until all waiting messages are visible again."""
        now, outage = _now(), self.outage
        if outage is None:
            return 1
        pause = self._limit(outage.pause(now))
        if outage.paused:
            return -(-pause // 1_000)
        due = outage.next if outage.next > now else min(outage.probing, now + pause)
        return max(1, -(-(due - now) // 1_000))

    def _limit(self, pause: int) -> int:
        if self.longest_pause is None:
            return pause
        return min(pause, max(self.longest_pause, 1) * 1_000)


def _now() -> int:
    return round(time.time() * 1_000)
