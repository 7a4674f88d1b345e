"""Lambda on the simulated clock: pollers that hand messages to a handler for weeks."""

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest.mock import patch

from tests.unit.simulation.sqs import SimulatedQueue, SimulatedSqs

START = 1_800_000_000.0
Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]


class CrashError(BaseException):
    """The function ends without an answer: out of memory, out of time, killed."""


class Clock:
    """Unix time in seconds; only `at` and what takes time move it."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now

    @property
    def since_start(self) -> float:
        return self.now - START


@dataclass
class Context:
    """Lambda's context: the time that is left to one invocation."""

    clock: Clock
    until: float

    def get_remaining_time_in_millis(self) -> int:
        return max(0, round((self.until - self.clock.now) * 1_000))


@dataclass
class Function:
    """An event source mapping and its function.

    `workers` run side by side; `grain` is how many seconds a poller at least takes between two
    calls, which bounds how many calls there are to simulate.
    """

    queue: SimulatedQueue
    handler: Handler
    timeout: float = 60.0
    batch: int = 10
    workers: int = 2
    grain: float = 1.0


class Simulation:
    """Runs functions over their queues until nothing waits, or until a moment."""

    def __init__(self, seed: int) -> None:
        self.clock = Clock()
        self.sqs = SimulatedSqs(self.clock, Random(seed))  # noqa: S311 - a repeatable order
        self.functions: list[Function] = []
        self.calls = 0

    def time(self) -> Any:
        """Let the code read this clock."""
        return patch("time.time", self.clock)

    def run(
        self, days: float, *, actions: Mapping[float, Callable[[], None]] | None = None
    ) -> None:
        """Go on for so many days; `actions` happen at their seconds from now."""
        end = self.clock.now + days * 86_400
        begin = self.clock.now
        todo = sorted(
            (begin + after, n, do) for n, (after, do) in enumerate((actions or {}).items())
        )
        free = [
            (begin, index, number)
            for index, function in enumerate(self.functions)
            for number in range(function.workers)
        ]
        heapq.heapify(free)
        with self.time():
            while True:
                while todo and (not free or todo[0][0] <= free[0][0]):
                    self.clock.now = todo[0][0]
                    todo.pop(0)[2]()
                if not free or free[0][0] >= end:
                    break
                at, index, number = heapq.heappop(free)
                self.clock.now = at
                function = self.functions[index]
                wait = self._poll(function)
                if wait is None and not any(each.queue.messages for each in self.functions):
                    if not todo:
                        continue
                    wait = todo[0][0]
                idle = at + 20 * 60 if wait is None else wait
                if todo:
                    idle = min(idle, max(todo[0][0], at + function.grain))
                heapq.heappush(free, (max(idle, at + function.grain), index, number))
        self.clock.now = end
        for queue in self.sqs.queues.values():
            self.sqs.expire(queue)

    def _poll(self, function: Function) -> float | None:
        """Receive and call once; when to poll again, None if nothing is there."""
        started = self.clock.now
        records = self.sqs.receive(function.queue, function.batch)
        if not records:
            return self.sqs.next_seen(function.queue)
        self.calls += 1
        until = started + function.timeout
        try:
            answer = function.handler({"Records": records}, Context(self.clock, until))
        except CrashError:
            self.clock.now = min(self.clock.now, until)
            return self.clock.now
        except Exception:  # noqa: BLE001 - Lambda counts the whole batch as failed
            return self.clock.now
        if self.clock.now > until:  # Lambda ended it: nobody heard the answer
            self.clock.now = until
            return self.clock.now
        stay = {each["itemIdentifier"] for each in answer["batchItemFailures"]}
        self.sqs.delete(function.queue, [one for one in records if one["messageId"] not in stay])
        return self.clock.now
