"""What a run does, as data: the same for the same number of events and seed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.chaos.breakage import Fault, faults
from tests.chaos.made import Made, make
from tests.chaos.real import RealOperation, operations

REAL_SHARE = 0.2
"""Of the events: those of operations on a real bucket; the others are injected."""
MOST_REAL = 10_000
"""An operation on the local S3 takes it as long as a hundred injected events."""


@dataclass(frozen=True)
class Plan:
    """All of a run; `events` is how many happen in it, poison included."""

    seed: int
    events: int
    real: Sequence[Sequence[RealOperation]]
    """What each worker does, one after the other."""
    made: Made
    faults: Sequence[Fault]


def plan(events: int, seed: int, targets: Sequence[str], *, together: int) -> Plan:
    """Plan a run of about so many events; `together` is how many a message may hold."""
    source = random.Random(seed)  # noqa: S311 - a plan, no secret
    real_events = min(round(events * REAL_SHARE), MOST_REAL)
    real = operations(real_events, source)
    made = make(events - real_events, source, targets, together=together)
    counted = sum(each.events for worker in real for each in worker) + len(made.sent_counts)
    return Plan(seed, counted, real, made, faults(events, source, targets))
