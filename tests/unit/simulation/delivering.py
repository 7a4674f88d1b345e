"""A target's queue, its real dispatcher and a target that behaves as a script says, for weeks."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any
from zlib import crc32

import msgspec

from bucketcast.delivery.breaker import Breaker, BreakerStore, LocalStore, Outage
from bucketcast.delivery.connection import Connection
from bucketcast.delivery.consumer import Consumer
from bucketcast.delivery.dead_letters import write
from bucketcast.delivery.engine import Engine
from bucketcast.delivery.envelope import Delivery, unpack
from bucketcast.delivery.messages import Item, message
from bucketcast.delivery.policy import Policy, visibility
from bucketcast.delivery.queue import Queue
from bucketcast.delivery.sender import Sender
from bucketcast.destination import Destination
from bucketcast.errors import NotConnected, Rejected, Retryable, Throttled
from bucketcast.event import Event
from bucketcast.ingest.fanout import Fanout
from bucketcast.settings.options import read
from bucketcast.state.counters import Counters
from bucketcast.targets import base
from bucketcast.targets.base import options
from functions.dispatch.batch import answer, deliver
from tests.unit.samples import event
from tests.unit.simulation.lambdas import Clock, CrashError, Delays, Function, Handler, Simulation
from tests.unit.simulation.sqs import DAY, SimulatedQueue

REFUSED = "refused for good"
AHEAD = "2100-01-01T00:00:00.000Z"
"""When events happened: a mirror refuses old ones, by the machine's own clock."""


@dataclass(frozen=True)
class Phase:
    """How the target behaves for a while.

    `how` is up, down, slow, busy, throttling, hole (says nothing until it is given up), moody
    (takes half), refusing (rejects some), crash, or dead slow crash (`late`: Lambda ends it).
    """

    days: float
    how: str
    after: float = 1.0


class Scripted(base.Target):
    """Takes, fails or says nothing, as the phase of the moment has it."""

    def __init__(self, clock: Clock, phases: Sequence[Phase], batch_size: int) -> None:
        super().__init__(read(options.Common, {}))
        self.clock = clock
        self.phases = phases
        self.batch_size = batch_size  # type: ignore[misc]
        self.taken: Counter[str] = Counter()
        self.taken_at: dict[str, float] = {}
        self.tried: Counter[str] = Counter()
        self.sends = 0
        self.max_seconds = 40.0

    @property
    def max_send_seconds(self) -> float:
        return self.max_seconds

    @property
    def where(self) -> str:
        return "here"

    def phase(self) -> Phase:
        days = self.clock.since_start / DAY
        for phase in self.phases:
            if days < phase.days:
                return phase
            days -= phase.days
        return Phase(0, "up")

    def send(self, events: Sequence[Event]) -> base.Failures:
        phase = self.phase()
        self.sends += 1
        names = [f"{each.key} {each.rule}" for each in events]
        self.tried.update(names)
        self._answer(phase.how)
        failed = self._failures(phase, names)
        self._take(name for n, name in enumerate(names) if n not in failed)
        return failed

    def _answer(self, how: str) -> None:
        """Take time, and raise what the whole batch gets instead of an answer."""
        match how:
            case "down":
                raise NotConnected("connection refused")
            case "hole":
                self.clock.now += self.max_send_seconds
                raise NotConnected("no answer")
            case "slow":
                self.clock.now += 10
            case "late":
                self.clock.now += 10_000
            case "crash":
                raise CrashError

    def _failures(self, phase: Phase, names: Sequence[str]) -> base.Failures:
        """What single events get for an answer."""
        everything = range(len(names))
        half = [n for n in everything if crc32(names[n].encode()) & 1]
        match phase.how:
            case "busy":
                return dict.fromkeys(everything, Retryable("busy"))
            case "throttling":
                return dict.fromkeys(everything, Throttled("slow down", phase.after))
            case "moody":
                return dict.fromkeys(half, Retryable("moody"))
            case "refusing":
                return dict.fromkeys(half, Rejected(REFUSED))
        return {}

    def _take(self, names: Iterable[str]) -> None:
        for name in names:
            self.taken[name] += 1
            self.taken_at.setdefault(name, self.clock.now)

    def probe(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        pass


class Delivering:
    """One target in the simulation; `sent` are the (key, rule) that were given to its queue."""

    def __init__(  # noqa: PLR0913 - what a deployment and a target are made of
        self,
        phases: Sequence[Phase],
        *,
        beside: Simulation | None = None,
        name: str = "primary",
        seed: int = 0,
        fifo: bool = False,
        timeout: float = 60.0,
        workers: int = 2,
        grain: float = 1.0,
        batch_size: int = 1_000,
        in_flight_limit: int = 120_000,
    ) -> None:
        self.simulation = beside or Simulation(seed)
        self.arn = f"arn:minio:sqs::{name}:webhook"
        end = ".fifo" if fifo else ""
        self.dead = self.simulation.sqs.add(
            SimulatedQueue(f"sqs/Bucketcast-webhook-{name}-dead{end}")
        )
        self.queue = self.simulation.sqs.add(
            SimulatedQueue(
                f"sqs/Bucketcast-webhook-{name}{end}",
                visibility=visibility(end, round(timeout)),
                dead=self.dead,
                in_flight_limit=in_flight_limit,
            )
        )
        client: Any = self.simulation.sqs
        self.target = Scripted(self.simulation.clock, phases, batch_size)
        self.book: BreakerStore = LocalStore()
        self.make_counters: Callable[[], Counters | None] = lambda: None
        self.fanout = Fanout(f"sqs/Bucketcast-*{end}", client, deployed=bool)
        self.sent: Counter[str] = Counter()
        self.put_at: dict[str, float] = {}
        self._policy = Policy(in_order=fifo)
        self.batch_size = batch_size
        self.function = Function(
            self.queue, self._environment, timeout=timeout, max_concurrency=workers, grain=grain
        )
        self.simulation.functions.append(self.function)

    def connector(self) -> Callable[[bool], base.Target]:
        """How one function connects."""
        return lambda _: self.target

    def work(self) -> Sender:
        """What one function does with events."""
        return Sender(Connection(self.connector()), Breaker(self.book), self.batch_size)

    def set_outage(self, outage: Outage | None = None) -> None:
        """Let all functions know of this outage or pause, by default of none."""
        assert isinstance(self.book, LocalStore)
        self.book.outage = outage

    def _environment(self) -> Handler:
        """What Lambda begins: of the others it knows what the table holds alone."""
        client: Any = self.simulation.sqs
        dead = partial(write, queue=Queue(self.dead.name, client), target=self.arn)
        own = Consumer(Queue(self.queue.name, client), dead)
        engine, counters = Engine(own, self.work()), self.make_counters()

        def handler(event: Any, context: Any) -> dict[str, Any]:
            messages = [*map(message, event["Records"])]
            stay = deliver(self.arn, engine, messages, self._policy, context, counters=counters)
            return answer(stay)

        return handler

    def put(self, *keys: str, rule: str = "rule", record: bytes = b"{}") -> None:
        """What ingest does with events of these keys."""
        stored = msgspec.Raw(record)
        self.fan_out([Delivery(rule, event(key, stored=stored, time=AHEAD)) for key in keys])
        names = [f"{key} {rule}" for key in keys]
        self.sent.update(names)
        self.put_at |= dict.fromkeys(names, self.simulation.clock.now)

    def fan_out(self, made: Sequence[Delivery]) -> None:
        nowhere: Any = None
        with self.simulation.time():
            routed = {Destination.of(self.arn): [Item(nowhere, each) for each in made]}
            assert not [*self.fanout.send(routed, lambda: 60.0)]

    def redrive(self) -> None:
        self.simulation.sqs.redrive(self.dead, self.queue)

    def letters(self) -> Counter[str]:
        """What was ever dead-lettered."""
        return Counter(
            f"{one.event.key} {one.rule}"
            for letter in self.dead.arrived
            for one in unpack(letter.body)
        )

    def delays(self, names: Iterable[str]) -> Delays:
        """How long events took from ingest to the target."""
        at = self.target.taken_at
        return Delays.of(at.get(name, inf) - self.put_at[name] for name in names)

    def check(self) -> None:
        """Every event was delivered, or is dead with a reason of ours and a week left."""
        self.simulation.sqs.check(self.queue)
        letters = self.letters()
        lost = [name for name in self.sent if not self.target.taken[name] and not letters[name]]
        assert not lost, f"lost: {lost}"

    def reasons(self) -> Counter[str]:
        return Counter(one.attributes["reason"]["StringValue"] for one in self.dead.arrived)
