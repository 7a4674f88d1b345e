"""Lambda on the simulated clock: pollers that hand messages to a handler for weeks."""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from math import inf
from random import Random
from typing import Any, NamedTuple, Self
from unittest.mock import patch

from bucketcast.delivery.queue import Queue
from tests.unit.simulation.sqs import DAY, Record, SimulatedQueue, SimulatedSqs
from tests.unit.simulation.turns import Parked, Steps

START = 1_800_000_000.0
FIRST_CALLS = 5
"""Calls side by side with which Lambda begins on a queue; as many more each second."""
Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]


class CrashError(BaseException):
    """The function ends without an answer: out of memory, out of time, killed."""


class Clock:
    """Unix time in seconds; only `now` and what takes time move it.

    Within a call it waits until then, while others go on.
    """

    def __init__(self) -> None:
        self._now = START
        self.wait: Callable[[float], None] | None = None

    def __call__(self) -> float:
        return self._now

    @property
    def now(self) -> float:
        return self._now

    @now.setter
    def now(self, at: float) -> None:
        (self.wait or self.set)(at)

    def set(self, at: float) -> None:
        self._now = at

    @property
    def since_start(self) -> float:
        return self._now - START


@dataclass
class Context:
    """Lambda's context: the time that is left to one invocation."""

    clock: Clock
    until: float

    def get_remaining_time_in_millis(self) -> int:
        return max(0, round((self.until - self.clock.now) * 1_000))


class Delays(NamedTuple):
    """The distribution of some delays in seconds."""

    p50: float
    p99: float
    most: float

    @classmethod
    def of(cls, delays: Iterable[float]) -> Self:
        found = sorted(delays)
        return cls(found[len(found) // 2], found[len(found) * 99 // 100], found[-1])


@dataclass(eq=False)
class Function:
    """An event source mapping and its function.

    `environment` begins one that handles calls, one at a time; a call that is killed ends it.
    `grain` is how many seconds a poller at least takes between two calls, which bounds how many
    calls there are to simulate. `calls` and the `seconds` that they took are counted.
    """

    queue: SimulatedQueue
    environment: Callable[[], Handler]
    timeout: float = 60.0
    batch: int = 10
    max_concurrency: int = 2
    grain: float = 1.0
    calls: int = 0
    seconds: float = 0
    busy: int = 0
    busy_since: float = inf
    wakes: float = inf
    idle: list[Handler] = field(default_factory=list)

    def may_call(self, now: float) -> bool:
        scaled = FIRST_CALLS * (1 + int(max(0, now - self.busy_since)))
        return self.busy < min(self.max_concurrency, scaled)


class _Call:
    """One invocation: it begins at once, and `until` is when it is killed."""

    def __init__(self, function: Function, records: Sequence[Record], clock: Clock) -> None:
        self.function, self.records = function, records
        self.began, self.until = clock.now, clock.now + function.timeout
        self.answer: dict[str, Any] | None = None
        self.wrong: AssertionError | None = None
        self.finish: Callable[[], None] = lambda: None
        self._clock = clock

    def run(self) -> None:
        function = self.function
        handler = function.idle.pop() if function.idle else function.environment()
        try:
            event = {"Records": self.records}
            self.answer = handler(event, Context(self._clock, self.until))
        except CrashError:
            return
        except AssertionError as error:
            self.wrong = error
        except Exception:  # noqa: BLE001 - Lambda counts the whole batch as failed
            self.answer = None
        function.idle.append(handler)

    def done(self) -> Iterator[Record]:
        """What Lambda deletes: all, if an answer says nothing; none, if it names an unknown one."""
        if self.answer is None:
            return
        failed = self.answer.get("batchItemFailures") or ()
        stay = {each.get("itemIdentifier") for each in failed}
        if stay <= {each["messageId"] for each in self.records}:
            yield from (each for each in self.records if each["messageId"] not in stay)


class _Piece:
    """A piece of a call's work that takes turns of its own; it is killed with its call."""

    def __init__(self, work: Callable[[], Any], until: float) -> None:
        self.until = until
        self.result: Any = None
        self.error: BaseException | None = None
        self.finish: Callable[[], None] = lambda: None
        self._work = work

    def run(self) -> None:
        try:
            self.result = self._work()
        except BaseException as error:  # noqa: BLE001 - it is its call's
            self.error = error


class SideBySide:
    """What a call uses of a `ThreadPoolExecutor`, on the simulated clock."""

    def __init__(self, simulation: "Simulation", _most: int) -> None:
        self._simulation = simulation

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def map(self, work: Callable[..., Any], *inputs: Iterable[Any]) -> list[Any]:
        return self._simulation.work([partial(work, *each) for each in zip(*inputs, strict=True)])


class Simulation:
    """Runs functions over their queues until nothing waits, or until a moment."""

    def __init__(self, seed: int) -> None:
        self.clock = Clock()
        self.sqs = SimulatedSqs(self.clock, Random(seed))  # noqa: S311 - a repeatable order
        self.sqs.wake = self._wake
        self.functions: list[Function] = []
        self._readers: dict[str, list[Function]] = {}
        self._end = START
        self._todo: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._steps = Steps(self._step)
        self._running: _Call | _Piece

    @contextmanager
    def time(self) -> Iterator[None]:
        """Let the code read this clock."""
        with patch("time.time", self.clock), patch("time.monotonic", self.clock):
            yield

    def run(
        self, days: float, *, actions: Mapping[float, Callable[[], None]] | None = None
    ) -> None:
        """Go on for so many days; `actions` happen at their seconds from now."""
        begin = self.clock.now
        self._end = begin + days * DAY
        for after, act in (actions or {}).items():
            self._at(begin + after, act)
        self._readers = {name: [] for name in self.sqs.queues}
        for function in self.functions:
            self._readers[function.queue.name].append(function)
        for queue in self.sqs.queues.values():
            self._wake(queue, begin)
        with self.time(), patch("bucketcast.delivery.consumer.Heartbeat", self._heartbeat):
            self._steps.run()
        self.clock.now = self._end
        for queue in self.sqs.queues.values():
            self.sqs.expire(queue)

    def work(self, works: Iterable[Callable[[], Any]]) -> list[Any]:
        """Do pieces of the running call's work side by side; return their results."""
        call, waiting = self._running, Parked()
        pieces = [_Piece(work, call.until) for work in works]
        unfinished = len(pieces)

        def finish() -> None:
            nonlocal unfinished
            unfinished -= 1
            if not unfinished:
                self._at(self.clock.now, partial(self._steps.resume, waiting))

        for piece in pieces:
            piece.finish = finish
            self._at(self.clock.now, partial(self._begin, piece))
        if pieces:
            self._let_others_go_on(call, waiting)
        for piece in pieces:
            if piece.error:
                raise piece.error
        return [piece.result for piece in pieces]

    @contextmanager
    def _heartbeat(self, queue: Queue, seconds: Mapping[str, int], first: float) -> Iterator[None]:
        """Renew messages once, just before the work with them ends."""
        began = self.clock.now
        try:
            yield
        finally:
            now = min(self.clock.now, self._running.until)
            if now - began >= first:
                self.sqs.renew(self.sqs.queues[queue.url], seconds, now)

    def _step(self) -> bool:
        """Do what comes next, if there is anything before the end."""
        if not self._todo or self._todo[0][0] >= self._end:
            return False
        at, _, act = heapq.heappop(self._todo)
        self.clock.now = max(at, self.clock.now)
        act()
        return True

    def _at(self, moment: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._todo, (moment, next(self._numbers), act))

    def _wake(self, queue: SimulatedQueue, at: float) -> None:
        for function in self._readers.get(queue.name, ()):
            if at < function.wakes:
                function.wakes = at
                self._at(at, partial(self._awake, function, at))

    def _awake(self, function: Function, at: float) -> None:
        if function.wakes == at:
            function.wakes = inf
            self._poll(function)

    def _poll(self, function: Function) -> None:
        """Receive and call if Lambda may now, and go on when a message can be seen."""
        queue, now = function.queue, self.clock.now
        records = self.sqs.receive(queue, function.batch) if function.may_call(now) else []
        seen = queue.next_seen(now)
        if records:
            function.busy_since = min(function.busy_since, now)
            self._wake(queue, now)
            self._call(function, records)
        elif seen != now:
            function.busy_since = inf
            if seen is not None:
                self._wake(queue, seen)
        elif function.busy < function.max_concurrency:
            self._wake(queue, now + function.grain)

    def _call(self, function: Function, records: Sequence[Record]) -> None:
        function.busy += 1
        function.calls += 1
        call = _Call(function, records, self.clock)
        call.finish = partial(self._finish, call)
        self._begin(call)

    def _begin(self, call: _Call | _Piece) -> None:
        """Run a call, or a piece of it, to its end."""
        self._make_running(call)
        call.run()
        self.clock.wait = None
        call.finish()

    def _make_running(self, call: _Call | _Piece) -> None:
        self._running = call
        self.clock.wait = partial(self._wait, call)

    def _wait(self, call: _Call | _Piece, until: float) -> None:
        """Let time go on within a call, which Lambda kills at its end."""
        at = min(until, call.until)
        if at < self._end and (not self._todo or at < self._todo[0][0]):
            self.clock.set(at)
        else:
            waiting = Parked()
            self._at(at, partial(self._steps.resume, waiting))
            self._let_others_go_on(call, waiting)
        if until > call.until:
            raise CrashError

    def _let_others_go_on(self, call: _Call | _Piece, waiting: Parked) -> None:
        self.clock.wait = None
        self._steps.wait(waiting)
        self._make_running(call)

    def _finish(self, call: _Call) -> None:
        if call.wrong:
            raise call.wrong
        function, now = call.function, self.clock.now
        function.seconds += now - call.began
        self.sqs.delete(function.queue, call.done())
        self._at(max(now, call.began + function.grain), partial(self._free, function))

    def _free(self, function: Function) -> None:
        function.busy -= 1
        self._poll(function)
