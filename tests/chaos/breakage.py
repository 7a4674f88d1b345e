"""The planned faults: their kind, target and time."""

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
"""The faults of a server or of the connection to it."""
FUNCTION = "function killed"
INGEST = "ingest"
BEGIN, END = 0.05, 0.85
"""The parts of the run between which faults happen; after that all recovers under load."""
_EVENTS_A_ROUND = 6_000
_MOST_ROUNDS = 12
_FEW = 1_000
"""A run of fewer events is short: few functions are killed, outages are brief."""
_SECONDS = (3.0, 12.0)
_BRIEF_SECONDS = (1.5, 3.0)


class Fault(NamedTuple):
    """A fault of a target, `<kind>.<id>`, or of ingest, once this part of the events is sent.

    `seconds` is its duration, if that is planned.
    """

    at: float
    target: str
    kind: str
    seconds: float = 0.0


def faults(events: int, source: random.Random, targets: Sequence[str]) -> list[Fault]:
    """Return all faults in order; those of one target are performed one by one."""
    few = events < _FEW
    rounds = 1 if few else min(_MOST_ROUNDS, 2 + events // _EVENTS_A_ROUND)
    seconds = _BRIEF_SECONDS if few else _SECONDS
    kinds = source.sample(SERVERS, len(SERVERS))
    planned = []
    for index, target in enumerate(source.sample(targets, len(targets))):
        for number in range(rounds):
            kind = kinds[(index + number) % len(kinds)]
            at = source.uniform(BEGIN, END)
            planned.append(Fault(at, target, kind, source.uniform(*seconds)))
    killed = [*source.sample(targets, 3), INGEST] if few else [*targets, INGEST, INGEST]
    for _ in range(rounds):
        planned += [Fault(source.uniform(BEGIN, END), name, FUNCTION) for name in killed]
    return sorted(planned)
