"""One queue of the simulated SQS: which of its messages can be received, and in which order."""

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, islice
from random import Random
from typing import Any

MINUTE, HOUR, DAY = 60, 3_600, 86_400
RETENTION = 14 * DAY
MAX_RECEIVES = 1_000
IN_FLIGHT_LIMIT = 120_000
"""Of either type. A FIFO queue looks for groups among as many of its oldest messages only."""


@dataclass(eq=False)
class Kept:
    """A message; times are seconds. Its `seen` is when it can be received (again).

    Its queue gives it an `id`.
    """

    body: str
    attributes: Mapping[str, Any]
    sent: float
    seen: float
    group: str = ""
    receives: int = 0
    in_flight: bool = False
    received: float = 0
    id: str = ""

    @property
    def receipt(self) -> str:
        return f"{self.id}/{self.receives}"


@dataclass
class SimulatedQueue:
    """One queue.

    What SQS itself took out of it lies in `dropped` and `moved`, whatever was sent in `arrived`.
    Each call is refused with the code `refuses`, if there is one.
    """

    name: str
    visibility: float = 6 * MINUTE
    dead: "SimulatedQueue | None" = None
    retention: float = RETENTION
    in_flight_limit: int = IN_FLIGHT_LIMIT
    refuses: str = ""
    dropped: list[Kept] = field(default_factory=list)
    moved: list[Kept] = field(default_factory=list)
    tokens: dict[str, float] = field(default_factory=dict)
    arrived: list[Kept] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _kept: dict[str, Kept] = field(default_factory=dict)
    _later: list[tuple[float, int, Kept]] = field(default_factory=list)
    _ages: list[tuple[float, int, Kept]] = field(default_factory=list)
    _due: list[Kept] = field(default_factory=list)
    _flying: Counter[str] = field(default_factory=Counter)

    @property
    def fifo(self) -> bool:
        return self.name.endswith(".fifo")

    @property
    def messages(self) -> list[Kept]:
        """All that it holds, the oldest first."""
        return list(self._kept.values())

    def in_flight(self, now: float) -> int:
        self._land(now)
        return self._flying.total()

    def add(self, one: Kept) -> None:
        number = next(self._numbers)
        one.id = f"m{number}"
        self._kept[one.id] = one
        heapq.heappush(self._ages, (one.sent, number, one))
        self._wait(one)

    def remove(self, one: Kept) -> None:
        del self._kept[one.id]
        self._rest(one)

    def by_receipt(self, receipt: str) -> Kept | None:
        """The message of the newest receipt, if it is there and was not received again."""
        one = self._kept.get(receipt.partition("/")[0])
        return one if one and one.receipt == receipt else None

    def hide(self, one: Kept, until: float, now: float) -> None:
        """Put it in flight, or leave it there, until a moment."""
        if not one.in_flight:
            one.in_flight, one.received = True, now
            self._flying[one.group] += 1
        one.seen = until
        self._wait(one)

    def next_seen(self, now: float) -> float | None:
        """When a message can be received, at the earliest: `now` if one can be already."""
        self._land(now)
        if next(self._unlocked(), None) if self.fifo else self._due:
            return now
        while self._later and not self._is_waiting(*self._later[0]):
            heapq.heappop(self._later)
        return self._later[0][0] if self._later else None

    def receivable(self, now: float, random: Random) -> Iterator[Kept]:
        """Messages that can be received, as SQS chooses them; each is to be hidden or removed."""
        self._land(now)
        if self.fifo:
            yield from self._unlocked()
            return
        due = self._due
        while due:
            chosen = random.randrange(len(due))
            due[chosen], due[-1] = due[-1], due[chosen]
            one = due.pop()
            if self._is_due(one, now):
                yield one

    def expired(self, now: float) -> list[Kept]:
        """What is older than SQS keeps anything."""
        found = []
        while self._ages and self._ages[0][0] < now - self.retention:
            one = heapq.heappop(self._ages)[2]
            if one.id in self._kept:
                found.append(one)
        return found

    def _unlocked(self) -> Iterator[Kept]:
        locked = {group for group, flying in self._flying.items() if flying}
        oldest = islice(self.messages, self.in_flight_limit)
        return (one for one in oldest if one.group not in locked)

    def _is_due(self, one: Kept, now: float) -> bool:
        return one.id in self._kept and not one.in_flight and one.seen <= now

    def _wait(self, one: Kept) -> None:
        heapq.heappush(self._later, (one.seen, next(self._numbers), one))

    def _rest(self, one: Kept) -> None:
        if one.in_flight:
            one.in_flight = False
            self._flying[one.group] -= 1

    def _land(self, now: float) -> None:
        """Make those visible whose time has come."""
        while self._later and self._later[0][0] <= now:
            entry = heapq.heappop(self._later)
            one = entry[2]
            if self._is_waiting(*entry):
                self._rest(one)
                if not self.fifo:
                    self._due.append(one)

    def _is_waiting(self, seen: float, _: int, one: Kept) -> bool:
        return one.id in self._kept and one.seen == seen
