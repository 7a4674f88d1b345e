"""The simulation: single messages and pollers, which share nothing with the model but `constants`.

A poll that finds messages takes up to ten of them; one that finds none waits, and ends with the
first that comes. Lambda adds pollers while polls come back full.
"""

import heapq
import random
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Final, NamedTuple

from benchmarks.scale import constants as c
from bucketcast.cost.calls import COMPRESSION, UNIT_BYTES
from bucketcast.cost.estimate import BREAKER_READS, LOG_BYTES, RULE_READS
from bucketcast.cost.prices import prices
from bucketcast.limits import (
    BATCH_MESSAGES,
    INGEST_MEMORY_MB,
    INGEST_WINDOW_MESSAGES,
    MEMORY_MB,
    SENDS_AT_ONCE,
    SQS_CALL_MESSAGES,
    WINDOW_MESSAGES,
)

RECORD_BYTES: Final = 900


class Call(NamedTuple):
    """A call of a function with the messages of these numbers."""

    began: float
    ended: float
    messages: Sequence[int]


class Queue:
    """A queue of messages that arrive at these times, and the pollers that Lambda has for it.

    `seconds` returns how long a call with some messages takes, `weight` how many events they have.
    """

    def __init__(  # noqa: PLR0913 - what a mapping of a queue to a function has
        self,
        arrivals: Sequence[float],
        *,
        window: float,
        most: int,
        pollers: int,
        seconds: Callable[[Sequence[int]], float],
        begin: int = 0,
        fits: Callable[[Sequence[int]], bool] = lambda _: True,
    ) -> None:
        self._arrivals = arrivals
        self._window, self._most, self._limit = window, most, pollers
        self._seconds, self._fits = seconds, fits
        self._waiting: deque[int] = deque()
        self._batches: dict[int, list[int]] = {}
        self._ends: dict[int, float] = {}
        self._number = count()
        self._steps: list[tuple[float, int, str, int]] = []
        self._chance = random.Random(1)  # noqa: S311 - no secret
        self._polling = list(range(begin or pollers))
        self.pollers = begin or pollers
        self._full_polls = 0
        self.received = [0.0] * len(arrivals)
        self.receives: list[int] = []
        self.calls: list[Call] = []

    def play(self) -> "Queue":
        """Play until all messages are received and all calls have ended."""
        self._at(1.0, "scale", 0)
        arrived, arrivals = 0, self._arrivals
        while arrived < len(arrivals) or self._waiting or self._batches:
            if arrived < len(arrivals) and (
                not self._steps or arrivals[arrived] <= self._steps[0][0]
            ):
                self._waiting.append(arrived)
                if self._polling:
                    self._swap()
                    self._receive(self._polling.pop(), arrivals[arrived])
                arrived += 1
            else:
                now, _, step, poller = heapq.heappop(self._steps)
                getattr(self, f"_{step}")(poller, now)
        return self

    def _at(self, time: float, step: str, poller: int) -> None:
        heapq.heappush(self._steps, (time, next(self._number), step, poller))

    def _swap(self) -> None:
        """Put any of the waiting pollers last."""
        any_ = self._chance.randrange(len(self._polling))
        self._polling[any_], self._polling[-1] = self._polling[-1], self._polling[any_]

    def _receive(self, poller: int, now: float) -> None:
        batch = self._batches.get(poller)
        if batch is None:
            batch = self._batches[poller] = []
            self._ends[poller] = now + self._window
            self._at(now + self._window, "close", poller)
        number = min(len(self._waiting), SQS_CALL_MESSAGES, self._most - len(batch))
        for _ in range(number):
            self.received[self._waiting[0]] = now
            batch.append(self._waiting.popleft())
        self.receives.append(number)
        self._full_polls += number == SQS_CALL_MESSAGES
        self._at(now + c.CALL, "received", poller)

    def _received(self, poller: int, now: float) -> None:
        batch = self._batches[poller]
        if now >= self._ends[poller] or len(batch) >= self._most or not self._fits(batch):
            self._call(poller, now)
        elif self._waiting:
            self._receive(poller, now)
        else:
            self._polling.append(poller)

    def _close(self, poller: int, now: float) -> None:
        """End a window in which the poller waits for more."""
        if poller in self._batches and self._ends[poller] <= now and poller in self._polling:
            self._polling.remove(poller)
            self._call(poller, now)

    def _call(self, poller: int, now: float) -> None:
        batch = self._batches.pop(poller)
        ended = now + self._seconds(batch) * self._chance.uniform(1 - c.VARIES, 1 + c.VARIES)
        self.calls.append(Call(now, ended, batch))
        self._at(ended, "ended", poller)

    def _ended(self, poller: int, now: float) -> None:
        if self._waiting:
            self._receive(poller, now)
        else:
            self._polling.append(poller)

    def _scale(self, _: int, now: float) -> None:
        added = min(c.POLLERS_A_SECOND, self._limit - self.pollers) if self._full_polls else 0
        for poller in range(self.pollers, self.pollers + added):
            self._ended(poller, now)
        self.pollers, self._full_polls = self.pollers + added, 0
        self._at(now + 1.0, "scale", 0)


class Seen(NamedTuple):
    """What was seen of a stack, while it was neither beginning nor ending."""

    p50: float
    p99: float
    busy_ingest: float
    busy_dispatch: float
    in_flight: float
    rule_reads: float
    dollars: float
    calls: float


def arrivals(rate: float, seconds: float) -> list[float]:
    """Return the times of events that come by chance."""
    chance, now, times = random.Random(2), 0.0, []  # noqa: S311 - no secret
    while now < seconds:
        now += chance.expovariate(rate)
        times.append(now)
    return times


def stack(rate: float, targets: int, window: int, pollers: tuple[int, int], length: float) -> Seen:
    """Play `length` seconds of a stack; one target is played, and counts for all."""
    times = arrivals(rate, length)
    ingest = Queue(
        times,
        window=window,
        most=INGEST_WINDOW_MESSAGES if window else BATCH_MESSAGES,
        pollers=pollers[0],
        seconds=lambda batch: _ingest(len(batch), targets),
    ).play()
    sent = sorted(ingest.calls, key=lambda call: call.ended)
    events = [len(call.messages) for call in sent]
    dispatch = Queue(
        [call.ended for call in sent],
        window=window,
        most=WINDOW_MESSAGES if window else BATCH_MESSAGES,
        pollers=pollers[1],
        seconds=lambda batch: _dispatch(sum(events[number] for number in batch)),
        fits=lambda batch: sum(events[number] for number in batch) < c.TARGET_EVENTS,
    ).play()
    begin, end = length * 0.3, length * 0.9
    delays = sorted(
        call.ended - times[event]
        for call in dispatch.calls
        for number in call.messages
        for event in sent[number].messages
        if begin <= times[event] < end
    )
    used = _units(ingest, dispatch, events, targets)
    known = prices()
    dollars = sum(known.of(name, units) for name, units in used.items())
    calls = sum(units for name, units in used.items() if not name.startswith(("logs", "lambda_s")))
    busy_ingest, busy_dispatch = (
        sum(call.ended - call.began for call in queue.calls if begin <= call.began < end)
        / (end - begin)
        for queue in (ingest, dispatch)
    )
    in_flight = sum(call.ended * len(call.messages) for call in sent) - sum(ingest.received)
    begun = sum(begin <= call.began < end for call in ingest.calls)
    return Seen(
        delays[len(delays) // 2],
        delays[int(len(delays) * 0.99)],
        busy_ingest,
        busy_dispatch,
        in_flight / length,
        begun / (end - begin),
        dollars / len(times) * rate * 86_400,
        calls / len(times),
    )


def _ingest(events: int, targets: int) -> float:
    seconds = c.INGEST_BATCH + events * (c.INGEST_EVENT + targets * c.PACK_EVENT)
    for _ in range(SENDS_AT_ONCE, targets, SENDS_AT_ONCE):
        seconds += c.CALL
    return seconds


def _dispatch(events: int) -> float:
    posts = events * c.ANSWER / min(events, c.AT_ONCE)
    return c.DISPATCH_BATCH + events * c.SEND_EVENT + posts


def _requests(sizes: Sequence[float]) -> int:
    return sum(1 + int(max(size - 1, 0) // UNIT_BYTES) for size in sizes)


def _units(
    ingest: Queue, dispatch: Queue, events: Sequence[int], targets: int
) -> Mapping[str, float]:
    """Return the units of prices that were used."""
    used: defaultdict[str, float] = defaultdict(float, sqs=sum(events))  # S3's messages
    packed = sum(events) / len(events) * RECORD_BYTES / COMPRESSION
    used["sqs"] += targets * _requests([number * RECORD_BYTES / COMPRESSION for number in events])
    for name, queue, times, size, memory in (
        ("ingest", ingest, 1, RECORD_BYTES, INGEST_MEMORY_MB),
        ("dispatch", dispatch, targets, packed, MEMORY_MB),
    ):
        used["sqs"] += times * _requests([number * size for number in queue.receives])
        deletes = (-len(call.messages) // SQS_CALL_MESSAGES for call in queue.calls)
        used["sqs"] -= times * sum(deletes)
        used["lambda_calls"] += times * len(queue.calls)
        seconds = sum(call.ended - call.began for call in queue.calls)
        used["lambda_seconds"] += times * seconds * memory / 1_024
        a_batch, an_event = LOG_BYTES[name]
        used["logs"] += times * (len(queue.calls) * a_batch + sum(events) * an_event) / 1e9
    used["dynamodb_reads"] += len(ingest.calls) * RULE_READS
    used["dynamodb_reads"] += targets * len(dispatch.calls) * BREAKER_READS
    return used
