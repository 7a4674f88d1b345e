"""What breaks, at whom, and at which part of the way."""

import random
from collections.abc import Sequence
from typing import NamedTuple

SERVERS = (
    "killed",
    "stopped",
    "frozen",
    "connections cut in mid-answer",
    "cut off",
    "login changed",
)
"""What may happen to a server or to the way to it."""
FUNCTION = "function killed"
INGEST = "ingest"
BEGIN, END = 0.05, 0.85
"""The parts of the way in which things break; after that they recover under load."""
_EVENTS_A_ROUND = 6_000
_MOST_ROUNDS = 12
_FEW = 1_000
"""Below so many events a run is to be short: few functions are killed, outages are brief."""
_SECONDS = (3.0, 12.0)
_BRIEF_SECONDS = (1.5, 3.0)


class Fault(NamedTuple):
    """What befalls a target, `<kind>.<id>`, or ingest, once this part of the events is on its way.

    `seconds` is for how long, where that is ours to say.
    """

    at: float
    whom: str
    what: str
    seconds: float = 0.0


def faults(events: int, source: random.Random, targets: Sequence[str]) -> list[Fault]:
    """All faults in order; those of one target never overlap, as they are done one by one."""
    few = events < _FEW
    rounds = 1 if few else min(_MOST_ROUNDS, 2 + events // _EVENTS_A_ROUND)
    seconds = _BRIEF_SECONDS if few else _SECONDS
    kinds = source.sample(SERVERS, len(SERVERS))
    found = []
    for index, target in enumerate(source.sample(targets, len(targets))):
        for turn in range(rounds):
            what = kinds[(index + turn) % len(kinds)]
            at = source.uniform(BEGIN, END)
            found.append(Fault(at, target, what, source.uniform(*seconds)))
    killed = [*source.sample(targets, 3), INGEST] if few else [*targets, INGEST, INGEST]
    for _ in range(rounds):
        found += [Fault(source.uniform(BEGIN, END), one, FUNCTION) for one in killed]
    return sorted(found)
