"""Events in the order in which they happened, although they come in another.

S3 delivers in no order, and ingest works on several batches at once, one of which may wait for a
function that is only starting. So an event is held until nothing is on its way any more that could
be earlier, which is mostly seen at once; and where it cannot be seen, because there is always
something on its way, for five seconds at first and then for twice as long as events of this bucket
are late. Nothing is held for more than ten seconds: one that is later than that is told late.
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
class _Held(Generic[Payload]):
    came: float
    time: str
    bucket: str
    sequencer: str
    payload: Payload


class Window(Generic[Payload]):
    """Holds what came; all times are seconds of one clock that only goes forward."""

    def __init__(self) -> None:
        self._held: list[_Held[Payload]] = []
        self._newest: dict[tuple[str, bool], tuple[list[str], list[float]]] = defaultdict(
            lambda: ([], [])
        )
        self._hold = FIRST_SECONDS
        self._latest = 0.0
        self._learned_at: float | None = None

    def __len__(self) -> int:
        return len(self._held)

    def push(self, event: Event, payload: Payload, now: float) -> None:
        """Take what came."""
        sequencer = padded(event.sequencer)
        self._learn((event.bucket, bool(sequencer)), sequencer or event.time, now)
        self._held.append(_Held(now, event.time, event.bucket, sequencer, payload))

    def due(self) -> float | None:
        """When something is to be told at the latest; None while nothing is held."""
        return self._held[0].came + self._hold if self._held else None

    def take(self, now: float, quiet: float = float("-inf")) -> list[Payload]:
        """What is to be told now, in its order; nothing that came until `quiet` waits for others.

        With one that was held for long enough go all that happened before it.
        """
        if not self._held:
            return []
        first = self._held[0].came
        if first <= quiet:
            # What comes next may begin with a function that starts.
            self._hold, self._latest, self._learned_at = FIRST_SECONDS, 0.0, None
        elif first + self._hold > now:
            return []
        ordered = _in_order(self._held)
        over = [one.came <= quiet or one.came + self._hold <= now for one in ordered]
        end = len(over) - over[::-1].index(True)
        left = {id(one) for one in ordered[end:]}
        self._held = [one for one in self._held if id(one) in left]
        return [one.payload for one in ordered[:end]]

    def _learn(self, which: tuple[str, bool], place: str, now: float) -> None:
        """See how long after others that happened later this one comes."""
        places, times = self._newest[which]
        behind = bisect_right(places, place)
        if behind < len(places):
            self._latest = max(self._latest, now - times[behind])
            self._hold = min(LONGEST_SECONDS, max(self._hold, _MARGIN * self._latest))
        else:
            places.append(place)
            times.append(now)
            if len(places) > 2 * _LOOKED_BACK:
                del places[:_LOOKED_BACK], times[:_LOOKED_BACK]
        if self._learned_at is None:
            self._learned_at = now
        elif now - self._learned_at > LEARNED_SECONDS:
            self._hold = min(LONGEST_SECONDS, max(SHORTEST_SECONDS, _MARGIN * self._latest))
            self._latest, self._learned_at = 0.0, now


def _in_order(held: list[_Held[Payload]]) -> list[_Held[Payload]]:
    """By time; those of one bucket that have a sequencer, among themselves by that.

    S3 promises that sequencers of one key compare; those of a bucket grow with time as well, and
    tell events of the same millisecond apart.
    """
    ordered = sorted(held, key=lambda one: one.time)
    places: dict[str, list[int]] = {}
    for place, one in enumerate(ordered):
        if one.sequencer:
            places.setdefault(one.bucket, []).append(place)
    for its in places.values():
        sequenced = sorted((ordered[place] for place in its), key=lambda one: one.sequencer)
        for place, one in zip(its, sequenced, strict=True):
            ordered[place] = one
    return ordered
