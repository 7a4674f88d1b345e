"""The circuit breaker of a target, shared by all functions that send to it.

::

    closed ──── no answer ────► open ──── its pause is over ────► one event goes alone
      ▲                          ▲ └─────────── the others wait ──────────┐    │
      │                          └──────────── no answer ─────────────────┼────┤
      └───────────────────────────────── any answer ──────────────────────┴────┘

A time-out or a failed connection is no answer. A refused login is one: it comes at once, and other
events of the same batch may get through.

A target that somebody paused (`bucketcast target pause`) is not tried at all until it is resumed.
"""

import enum
import time
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected

SHARE: Final = 6
"""Waiting messages come back after this part of the time that the target has been away for."""
LONGEST_PAUSE_MS: Final = 300_000
LONGEST_PAUSED_MS: Final = 60_000
"""So long after a paused target is resumed, its waiting messages come back at the latest."""
_SHORTEST_PAUSE_MS: Final = 1_000
_TRUSTED_MS: Final = 1_000
"""For how long a target is taken to answer because it did when this was asked last."""


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
        """Return the pause in milliseconds, which grows with the time that has passed."""
        if self.paused:
            share = (now - self.paused) // SHARE
            return min(max(share, _SHORTEST_PAUSE_MS), LONGEST_PAUSED_MS)
        return min(max((now - self.since) // SHARE, _SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS)


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
    """The circuit breaker of one target, as one function sees it."""

    def __init__(self, store: BreakerStore) -> None:
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
        if self.outage is not None or not 0 <= now - self._read_at < _TRUSTED_MS:
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
        seen = seen._replace(next=now + seen.pause(now))
        self.outage = self._store.note(seen, probed=self._probing)
        self._probing = False

    def pause(self) -> int:
        """Return the seconds until all waiting messages are visible again."""
        now, found = _now(), self.outage
        if found is None:
            return 1
        if found.paused:
            return -(-found.pause(now) // 1_000)
        at = found.next if found.next > now else min(found.probing, now + found.pause(now))
        return max(1, -(-(at - now) // 1_000))


def is_unreachable(error: DeliveryError) -> bool:
    """Return whether an error means that the target did not answer."""
    return isinstance(error, NotConnected) and not isinstance(error, NotAuthorized)


def _now() -> int:
    return round(time.time() * 1_000)
