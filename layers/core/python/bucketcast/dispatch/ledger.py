"""The ledger of a batch: what became of events, by the hour in which they came.

An event counts as received when its first message leaves the queue: delivered, dead, or sent again
as a new message, which is marked as `counted`. So a message that is received twice before that, or
whose function is killed, counts once or adds as much to both sides. Nothing is counted of a message
that stays: it will be, as a whole, when it leaves.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from bucketcast.delivery.envelope import Delivery

HOUR_MS: Final = 3_600_000


@dataclass(slots=True)
class HourTotals:
    """The events of one hour."""

    received: int = 0
    delivered: int = 0
    dead: int = 0


class Ledger(dict[int, HourTotals]):
    """Entries by hour, counted from 1970."""

    def left(
        self,
        deliveries: Collection[Delivery],
        *,
        counted: bool,
        failed: Collection[int] = (),
        waiting: Collection[int] = (),
    ) -> None:
        """Record that a message left the queue, unless it was `counted` before.

        `failed` are the indexes of events that were not delivered. Of these, `waiting` were sent
        again; the others are dead.
        """
        whole = _hours(deliveries)
        numbered = enumerate(deliveries)
        lost = _hours(each for index, each in numbered if index in failed) if failed else {}
        numbered = enumerate(deliveries)
        later = _hours(each for index, each in numbered if index in waiting) if waiting else {}
        for hour, number in whole.items():
            entry = self._at(hour)
            entry.received += 0 if counted else number
            entry.delivered += number - lost.get(hour, 0)
            entry.dead += lost.get(hour, 0) - later.get(hour, 0)

    def dead_letter(self, at: int, number: int, *, counted: bool) -> None:
        """Record that a message was dead-lettered unopened; `at` is Unix ms."""
        entry = self._at(at // HOUR_MS)
        entry.received += 0 if counted else number
        entry.dead += number

    def _at(self, hour: int) -> HourTotals:
        return self.setdefault(hour, HourTotals())


def _hours(deliveries: Iterable[Delivery]) -> Mapping[int, int]:
    return Counter([each.created // HOUR_MS for each in deliveries])
