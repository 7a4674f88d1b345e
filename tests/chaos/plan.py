"""The plan of a run, as data: the same for the same number of events and seed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.chaos.breakage import Fault, faults
from tests.chaos.injected import Injected, inject
from tests.chaos.operations import RealOperation, operations

REAL_SHARE = 0.2
"""Of the events: those of operations on a real bucket; the others are injected."""
MOST_REAL = 10_000
"""An operation on the local S3 takes it as long as a hundred injected events."""


@dataclass(frozen=True)
class Plan:
    """A whole run; `events` is their number, poison included."""

    seed: int
    events: int
    real: Sequence[Sequence[RealOperation]]
    """The operations of each worker, in order."""
    injected: Injected
    faults: Sequence[Fault]


def plan(events: int, seed: int, targets: Sequence[str], *, together: int) -> Plan:
    """Plan a run of about so many events, with up to `together` of them in a message."""
    source = random.Random(seed)  # noqa: S311 - a plan, no secret
    real_events = min(round(events * REAL_SHARE), MOST_REAL)
    real = operations(real_events, source)
    injected = inject(events - real_events, source, targets, together=together)
    counted = sum(operation.events for worker in real for operation in worker) + len(
        injected.sent_counts
    )
    return Plan(seed, counted, real, injected, faults(events, source, targets))
