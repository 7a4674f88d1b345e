"""The circuit breaker of a target, shared by all functions that send to it.

::

    closed ──── no answer ────► open ──── its pause is over ────► one event goes alone
      ▲                          ▲ └─────────── the others wait ──────────┐    │
      │                          └──────────── no answer ─────────────────┼────┤
      └───────────────────────────────── any answer ──────────────────────┴────┘

Whatever makes tries pointless opens it: silence, a connection that is refused or dropped, a refused
login. What the target says of one event does not.

A target that somebody paused (`bucketcast target pause`) is not tried at all until it is resumed.
"""

import enum
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

from bucketcast.errors import DeliveryError
from bucketcast.limits import LONGEST_OUTAGE_PAUSE, LONGEST_PAUSED, SHARE, TRUSTED_MS


class Outage(NamedTuple):
    """An outage of a target, or a pause, or both; times are Unix ms.

    `since` is when the outage was first seen, 0 for none, and `next` when the target may be tried
    again. A probe is in progress until `probing`, 0 for none. `tries` failed; `error` and `reason`
    are those of the last. `paused` is since when the target is paused, 0 if it is not.
    """

    since: int
    next: int
    probing: int = 0
    tries: int = 1
    error: str = ""
    reason: str = ""
    paused: int = 0

    def pause(self, now: int) -> int:
        """Return the pause in ms until it is tried again: a part of the time it has been away."""
        since, longest = self.since, LONGEST_OUTAGE_PAUSE
        if self.paused:
            since, longest = self.paused, LONGEST_PAUSED
        return min(max((now - since) // SHARE, 1_000), longest * 1_000)


class BreakerStore(Protocol):
    """Where the outage of one target is stored, shared by all functions that send to it.

    `note` records another failure: `since` counts only if there is no outage yet, and `probed` ends
    the probe in progress. `take` lets exactly one caller probe, until then.
    """

    def read(self) -> Outage | None: ...

    def note(self, outage: Outage, *, probed: bool) -> Outage: ...

    def take(self, now: int, until: int) -> bool: ...

    def clear(self) -> None: ...


class LocalStore:
    """A `BreakerStore` of a single function."""

    def __init__(self) -> None:
        self._outage: Outage | None = None

    def read(self) -> Outage | None:
        return self._outage

    def note(self, outage: Outage, *, probed: bool) -> Outage:
        before = self._outage
        if before is not None:
            probing = 0 if probed else before.probing
            tries = before.tries + 1
            outage = outage._replace(
                since=before.since, probing=probing, tries=tries, paused=before.paused
            )
        self._outage = outage
        return outage

    def take(self, now: int, until: int) -> bool:
        found = self._outage
        if found is None or now < max(found.next, found.probing):
            return False
        self._outage = found._replace(probing=until)
        return True

    def clear(self) -> None:
        self._outage = None


class BreakerState(enum.Enum):
    """Whether a batch may be sent: all of it, one event as a probe, or nothing."""

    CLOSED = enum.auto()
    HALF_OPEN = enum.auto()
    OPEN = enum.auto()
    PAUSED = enum.auto()


class Breaker:
    """The circuit breaker of one target, as one function sees it.

    `longest` are the seconds after which it is tried again at the latest, where a topic says so.
    """

    def __init__(self, store: BreakerStore) -> None:
        self.longest: int | None = None
        self._store = store
        self._read_at = 0
        self._probing = False
        self.outage: Outage | None = None

    def state(self, longest: Callable[[], float]) -> BreakerState:
        """Return what this batch may do; `longest` returns the maximal seconds of a probe."""
        self._probing = False
        if self.is_paused():
            return BreakerState.PAUSED
        now, found = _now(), self.outage
        if found is None:
            return BreakerState.CLOSED
        if now < max(found.next, found.probing):
            return BreakerState.OPEN
        until = now + round(longest() * 1_000)
        self._probing = self._store.take(now, until)
        if self._probing:
            return BreakerState.HALF_OPEN
        self.outage = found._replace(probing=until)  # somebody else was quicker
        return BreakerState.OPEN

    def is_paused(self) -> bool:
        """Return whether the target is paused."""
        now = _now()
        if self.outage is not None or not 0 <= now - self._read_at < TRUSTED_MS:
            self.outage, self._read_at = self._store.read(), now
        return self.outage is not None and self.outage.paused > 0

    def record_success(self) -> None:
        """Record that the target answered."""
        if self._probing:
            self._store.clear()
            self.outage, self._probing = None, False

    def record_failure(self, error: DeliveryError) -> None:
        """Record that the target did not answer."""
        now = _now()
        since = self.outage.since if self.outage else now
        seen = Outage(since, now, error=type(error).__name__, reason=str(error))
        seen = seen._replace(next=now + self._bounded(seen.pause(now)))
        self.outage = self._store.note(seen, probed=self._probing)
        self._probing = False

    def pause(self) -> int:
        """Return the seconds until all waiting messages are visible again."""
        now, found = _now(), self.outage
        if found is None:
            return 1
        pause = self._bounded(found.pause(now))
        if found.paused:
            return -(-pause // 1_000)
        at = found.next if found.next > now else min(found.probing, now + pause)
        return max(1, -(-(at - now) // 1_000))

    def _bounded(self, pause: int) -> int:
        return pause if self.longest is None else min(pause, max(self.longest, 1) * 1_000)


def _now() -> int:
    return round(time.time() * 1_000)
