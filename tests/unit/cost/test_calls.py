"""The calls for a queue beside a simulation of Lambda's pollers, as AWS documents them."""

import heapq
import random
from itertools import count
from typing import NamedTuple

import pytest

from bucketcast.cost import calls
from bucketcast.cost.calls import BATCH_SECONDS, MESSAGES_A_CALL, POLLERS, RECEIVE_SECONDS
from bucketcast.limits import BATCH_MESSAGES, INGEST_WINDOW_MESSAGES


class Poller:
    """Receives until its batch is full or its window is over, and waits for the function then."""

    def __init__(self) -> None:
        self.batch, self.opened = 0, 0.0


class Seen(NamedTuple):
    """Messages a batch, and receives and deletes a message."""

    batch: float
    receives: float
    deletes: float


def simulate(rate: float, window: float, messages: int = 20_000) -> Seen:
    """Play so many messages, which come by chance; a long poll ends with the first of them."""
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
            batches, deletes = batches + 1, deletes - (-poller.batch // MESSAGES_A_CALL)
            poller.batch = 0
            heapq.heappush(busy, (now + BATCH_SECONDS - RECEIVE_SECONDS, next(number), poller))
        chance.shuffle(waiting)
        while queued and waiting:
            poller = waiting.pop()
            poller.opened = poller.opened if poller.batch else now
            taken = min(queued, MESSAGES_A_CALL)
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


@pytest.mark.parametrize(
    ("rate", "window"), [(1, 0), (10, 0), (100, 0), (1, 1), (10, 1), (100, 1), (1_000, 1)]
)
def test_calls_are_those_of_five_pollers(rate: float, window: float) -> None:
    seen = simulate(rate, window)
    batch = calls.at_once(rate, window)
    assert batch == pytest.approx(seen.batch, rel=0.15)
    assert 1 / calls.received_together(rate, window) == pytest.approx(seen.receives, rel=0.15)
    assert 1 / calls.deleted_together(batch) == pytest.approx(seen.deletes, rel=0.15)
