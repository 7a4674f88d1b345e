"""Put events in the order in which they happened.

S3 delivers in no order, and ingest works on several batches at once, one of which may wait for a
cold start. So an event is buffered until no earlier one can be in flight, which is mostly visible
at once. While something is always in flight, it is buffered for five seconds at first, then for
twice as long as events of this bucket are late. Nothing is buffered for more than ten seconds:
events later than that are sent out of order.
"""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from bucketcast.event import Event, padded

Payload = TypeVar("Payload")
SHORTEST_SECONDS: Final = 0.05
FIRST_SECONDS: Final = 5.0
LONGEST_SECONDS: Final = 10.0
LEARNED_SECONDS: Final = 10.0
_MARGIN: Final = 2.0
_LOOKED_BACK: Final = 1_000


@dataclass(frozen=True, slots=True)
class _Buffered(Generic[Payload]):
    came: float
    time: str
    bucket: str
    sequencer: str
    payload: Payload


class ReorderBuffer(Generic[Payload]):
    """Holds received events; all times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._buffer: list[_Buffered[Payload]] = []
        self._newest: dict[tuple[str, bool], tuple[list[str], list[float]]] = defaultdict(
            lambda: ([], [])
        )
        self._hold = FIRST_SECONDS
        self._latest = 0.0
        self._learned_at: float | None = None

    def __len__(self) -> int:
        return len(self._buffer)

    def push(self, event: Event, payload: Payload, now: float) -> None:
        """Add received events."""
        sequencer = padded(event.sequencer)
        self._learn((event.bucket, bool(sequencer)), sequencer or event.time, now)
        self._buffer.append(_Buffered(now, event.time, event.bucket, sequencer, payload))

    def due(self) -> float | None:
        """Return when the next event is due at the latest; None if none is buffered."""
        return self._buffer[0].came + self._hold if self._buffer else None

    def take(self, now: float, quiet: float = float("-inf")) -> list[Payload]:
        """Return the events that are due, in order; those received until `quiet` need not wait.

        Earlier events are returned with one that was buffered for long enough.
        """
        if not self._buffer:
            return []
        first = self._buffer[0].came
        if first <= quiet:
            # The next event may have to wait for a cold start.
            self._hold, self._latest, self._learned_at = FIRST_SECONDS, 0.0, None
        elif first + self._hold > now:
            return []
        ordered = _in_order(self._buffer)
        over = [one.came <= quiet or one.came + self._hold <= now for one in ordered]
        end = len(over) - over[::-1].index(True)
        left = {id(one) for one in ordered[end:]}
        self._buffer = [one for one in self._buffer if id(one) in left]
        return [one.payload for one in ordered[:end]]

    def _learn(self, which: tuple[str, bool], order: str, now: float) -> None:
        """Measure how late this event is after later ones."""
        orders, times = self._newest[which]
        behind = bisect_right(orders, order)
        if behind < len(orders):
            self._latest = max(self._latest, now - times[behind])
            self._hold = min(LONGEST_SECONDS, max(self._hold, _MARGIN * self._latest))
        else:
            orders.append(order)
            times.append(now)
            if len(orders) > 2 * _LOOKED_BACK:
                del orders[:_LOOKED_BACK], times[:_LOOKED_BACK]
        if self._learned_at is None:
            self._learned_at = now
        elif now - self._learned_at > LEARNED_SECONDS:
            self._hold = min(LONGEST_SECONDS, max(SHORTEST_SECONDS, _MARGIN * self._latest))
            self._latest, self._learned_at = 0.0, now


def _in_order(buffered: list[_Buffered[Payload]]) -> list[_Buffered[Payload]]:
    """Sort by time, and events of one bucket with a sequencer by that.

    S3 promises that sequencers of one key compare; those of a bucket grow with time as well, and
    order events of the same millisecond.
    """
    ordered = sorted(buffered, key=lambda one: one.time)
    indexes: dict[str, list[int]] = {}
    for index, one in enumerate(ordered):
        if one.sequencer:
            indexes.setdefault(one.bucket, []).append(index)
    for its in indexes.values():
        sequenced = sorted((ordered[index] for index in its), key=lambda one: one.sequencer)
        for index, one in zip(its, sequenced, strict=True):
            ordered[index] = one
    return ordered
