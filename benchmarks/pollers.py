"""`bucketcast cost` beside a simulation of Lambda's pollers, as AWS documents them.

Run: `python -m benchmarks.pollers`; it prints the dollars of a month, without what is fixed, to one
webhook in each profile at some rates.
"""

import heapq
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import NamedTuple
from unittest.mock import patch

from benchmarks.profiles import Case
from bucketcast.cost import calls
from bucketcast.cost.calls import BATCH_SECONDS, POLLERS, RECEIVE_SECONDS
from bucketcast.limits import BATCH_MESSAGES, INGEST_WINDOW_MESSAGES, SQS_CALL_MESSAGES
from bucketcast.terminal.output import plain

CASES = tuple(
    Case(profile, 0, rate) for profile in ("latency", "throughput") for rate in (1, 10, 100, 1_000)
)


class Poller:
    """Receives until its batch is full or its window is over, and waits for the function then."""

    def __init__(self) -> None:
        self.batch, self.opened = 0, 0.0


class Seen(NamedTuple):
    """Messages a batch, and receives and deletes a message."""

    batch: float
    receives: float
    deletes: float


@cache
def simulate(
    rate: float, window: float, seconds: float = BATCH_SECONDS, messages: int = 20_000
) -> Seen:
    """Play so many messages, which come by chance; a long poll ends with the first of them.

    A poller is busy for so many `seconds` with a batch.
    """
    chance, number = random.Random(1), count()  # noqa: S311 - no secret
    most = INGEST_WINDOW_MESSAGES if window else BATCH_MESSAGES
    waiting = [Poller() for _ in range(POLLERS)]
    busy: list[tuple[float, int, Poller]] = []
    arrival = now = 0.0
    queued = received = receives = batches = deletes = 0
    while received < messages:
        while arrival <= now:
            queued, arrival = queued + 1, arrival + chance.expovariate(rate)
        due = [each for each in waiting if each.batch and now >= each.opened + window]
        for poller in due:
            waiting.remove(poller)
            batches, deletes = batches + 1, deletes - (-poller.batch // SQS_CALL_MESSAGES)
            poller.batch = 0
            heapq.heappush(busy, (now + seconds - RECEIVE_SECONDS, next(number), poller))
        chance.shuffle(waiting)
        while queued and waiting:
            poller = waiting.pop()
            poller.opened = poller.opened if poller.batch else now
            taken = min(queued, SQS_CALL_MESSAGES)
            queued, received, receives = queued - taken, received + taken, receives + 1
            poller.batch += taken
            heapq.heappush(busy, (now + RECEIVE_SECONDS, next(number), poller))
        ends = [each.opened + window for each in waiting if each.batch]
        now = min([arrival, *ends, *(busy[0][:1] if busy else ())])
        while busy and busy[0][0] <= now:
            poller = heapq.heappop(busy)[2]
            full = poller.batch and (now >= poller.opened + window or poller.batch >= most)
            poller.opened = now - window if full else poller.opened
            waiting.append(poller)
    return Seen(received / batches, receives / received, deletes / received)


@contextmanager
def simulated() -> Iterator[None]:
    """Let the estimate count the calls of the simulated pollers."""
    deletes: dict[float, float] = {}

    def at_once(*each: float) -> float:
        seen = simulate(*each)
        deletes[seen.batch] = seen.deletes
        return seen.batch

    with (
        patch.object(calls, "at_once", at_once),
        patch.object(calls, "received_together", lambda *each: 1 / simulate(*each).receives),
        patch.object(calls, "deleted_together", lambda batch: 1 / deletes[batch]),
    ):
        yield


def dollars(case: Case) -> tuple[float, float]:
    """Return what a month costs without what is fixed: by the model, and by the simulation."""
    by_model = case.bill().total(fixed=False)
    with simulated():
        return by_model, case.bill().total(fixed=False)


def main() -> None:
    rows = []
    for case in CASES:
        model, seen = dollars(case)
        rows.append((case.name, f"{model:,.2f}", f"{seen:,.2f}", f"{model / seen - 1:+.0%}"))
    columns = ("A MONTH, $", "MODEL", "SIMULATED", "DIFFERENCE")
    sys.stdout.write(plain(columns, rows) + "\n")


if __name__ == "__main__":
    main()
