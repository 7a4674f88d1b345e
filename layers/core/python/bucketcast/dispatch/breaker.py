"""The breaker of a target: what one batch learns of it, all others of that target heed.

::

    closed ──── no answer ────► open ──── its pause is over ────► one event goes alone
      ▲                          ▲ └─────────── the others wait ──────────┐    │
      │                          └──────────── no answer ─────────────────┼────┤
      └───────────────────────────────── any answer ──────────────────────┴────┘

No answer is a time-out, or no connection. A refused login is an answer: it comes at once, and other
events of the same batch may get through.
"""

import enum
import time
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected

SHARE: Final = 6
"""Waiting messages come back after this part of the time that the target has been away for."""
LONGEST_PAUSE_MS: Final = 300_000
_SHORTEST_PAUSE_MS: Final = 1_000
_TRUSTED_MS: Final = 1_000
"""For how long a target is taken to answer because it did when this was asked last."""


class Trouble(NamedTuple):
    """A target that does not answer; times are Unix ms.

    `since` is when that was first seen and `next` when it may be tried again; until `probing` one
    event is under way, 0 for none. `tries` got no answer; `error` and `reason` are of the last.
    """

    since: int
    next: int
    probing: int = 0
    tries: int = 1
    error: str = ""
    reason: str = ""

    def pause(self, now: int) -> int:
        """Milliseconds that grow with the time that it has been away for."""
        return min(max((now - self.since) // SHARE, _SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS)


class Book(Protocol):
    """Where the trouble of one target is written down, for all functions that send to it.

    `note` writes another try without an answer: `since` counts only where there is no trouble yet,
    `probed` ends the probe that was under way. `take` lets one caller alone probe, until then.
    """

    def read(self) -> Trouble | None: ...

    def note(self, trouble: Trouble, *, probed: bool) -> Trouble: ...

    def take(self, now: int, until: int) -> bool: ...

    def clear(self) -> None: ...


class Memory:
    """A `Book` of one function alone."""

    def __init__(self) -> None:
        self._trouble: Trouble | None = None

    def read(self) -> Trouble | None:
        return self._trouble

    def note(self, trouble: Trouble, *, probed: bool) -> Trouble:
        before = self._trouble
        if before is not None:
            probing = 0 if probed else before.probing
            tries = before.tries + 1
            trouble = trouble._replace(since=before.since, probing=probing, tries=tries)
        self._trouble = trouble
        return trouble

    def take(self, now: int, until: int) -> bool:
        found = self._trouble
        if found is None or now < max(found.next, found.probing):
            return False
        self._trouble = found._replace(probing=until)
        return True

    def clear(self) -> None:
        self._trouble = None


class Gate(enum.Enum):
    """Whether a batch may be sent: all of it, one event of it, or nothing."""

    CLOSED = enum.auto()
    PROBE = enum.auto()
    OPEN = enum.auto()


class Breaker:
    """The breaker of one target, as one function sees it."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._asked = 0
        self._probing = False
        self.trouble: Trouble | None = None

    def gate(self, longest: Callable[[], float]) -> Gate:
        """What this batch may do; `longest` is how many seconds a probe takes at the most."""
        now = _now()
        self._probing = False
        if self.trouble is not None or not 0 <= now - self._asked < _TRUSTED_MS:
            self.trouble, self._asked = self._book.read(), now
        found = self.trouble
        if found is None:
            return Gate.CLOSED
        if now < max(found.next, found.probing):
            return Gate.OPEN
        until = now + round(longest() * 1_000)
        self._probing = self._book.take(now, until)
        if self._probing:
            return Gate.PROBE
        self.trouble = found._replace(probing=until)  # somebody else was quicker
        return Gate.OPEN

    def answered(self) -> None:
        """Say that the target answered."""
        if self._probing:
            self._book.clear()
            self.trouble, self._probing = None, False

    def silent(self, error: DeliveryError) -> None:
        """Say that it did not."""
        now = _now()
        since = self.trouble.since if self.trouble else now
        seen = Trouble(since, now, error=type(error).__name__, reason=str(error))
        seen = seen._replace(next=now + seen.pause(now))
        self.trouble = self._book.note(seen, probed=self._probing)
        self._probing = False

    def pause(self) -> int:
        """Seconds after which what waits is to come back: all of it together."""
        now, found = _now(), self.trouble
        if found is None:
            return 1
        at = found.next if found.next > now else min(found.probing, now + found.pause(now))
        return max(1, -(-(at - now) // 1_000))


def is_silence(error: DeliveryError) -> bool:
    """Whether an error is that the target did not answer."""
    return isinstance(error, NotConnected) and not isinstance(error, NotAuthorized)


def _now() -> int:
    return round(time.time() * 1_000)
