"""Hours of ingest in which much is stuck: what it does to the events of a target that is well.

Rates, and how many messages may be in flight, are a ten-thousandth of what is spoken of.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from bucketcast.delivery.dead_letters import DeadLetters
from bucketcast.delivery.engine import Engine
from bucketcast.delivery.envelope import unpack
from bucketcast.delivery.messages import message as received
from bucketcast.delivery.policy import Policy
from bucketcast.delivery.queue import Queue
from bucketcast.destination import Destination
from bucketcast.event import Event
from bucketcast.ingest.fanout import Fanout
from bucketcast.ingest.intake import Intake
from bucketcast.ingest.routing import Wants
from bucketcast.limits import INGEST_CHUNK_BYTES
from bucketcast.rules import Rule, RuleIndex
from bucketcast.rules.conditions import Condition
from tests.unit.samples import message, record
from tests.unit.simulation.delivering import SimulatedConsumer
from tests.unit.simulation.lambdas import Clock, Delays, Function, Handler, Simulation
from tests.unit.simulation.sqs import HOUR, SimulatedQueue

HOOK = "arn:minio:sqs::primary:webhook"
TABLE = "arn:minio:sqs::_:postgresql"
PUTS = ("s3:ObjectCreated:*",)
TAGGED = (Condition(on="tag:x", values=("1",)),)
RULES = {
    "both": RuleIndex([Rule(bucket="both", arn=each, events=PUTS) for each in (HOOK, TABLE)]),
    "secret": RuleIndex([Rule(bucket="secret", arn=HOOK, events=PUTS, conditions=TAGGED)]),
}
TIMEOUT = 30


class Unreadable:
    """The facts of objects that ingest may not read: S3 refuses each look after a moment."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def wants(self, _to: Destination) -> Wants:
        return Wants()

    def is_self_caused(self, _event: Event) -> bool:
        return False

    def enrich(self, requested: Sequence[Any], _seconds: float) -> Sequence[Event | None]:
        self._clock.now += 0.1
        return [None] * len(requested)

    def may_reveal_version(self, _event: Event) -> bool:
        return False

    def read_current(self, _requested: Sequence[Any], _seconds: float) -> Sequence[Event | None]:
        return ()


class Ingesting:
    """Ingest of two buckets; the queue of the table takes nothing at all."""

    def __init__(self) -> None:
        self.simulation = Simulation(0)
        add = self.simulation.sqs.add
        self.dead = add(SimulatedQueue("sqs/B-ingress-dead"))
        self.ingress = add(
            SimulatedQueue(
                "sqs/B-ingress",
                visibility=TIMEOUT + 30,
                dead=self.dead,
                in_flight_limit=12,
            )
        )
        self.hook = add(SimulatedQueue("sqs/B-webhook-primary"))
        self.table = add(SimulatedQueue("sqs/B-postgres-_", broken=True))
        self.put: dict[str, float] = {}
        self.function = Function(
            self.ingress, self.environment, timeout=TIMEOUT, max_concurrency=2, grain=0.1
        )
        self.simulation.functions.append(self.function)

    def environment(self) -> Handler:
        client: Any = self.simulation.sqs
        clock = self.simulation.clock
        fanout = Fanout("sqs/B-*", client, deployed=bool)
        dead = DeadLetters("", Queue(self.dead.name, client))
        own = SimulatedConsumer(self.simulation, self.ingress, dead.write, TIMEOUT)

        def rules(buckets: frozenset[str]) -> Mapping[str, RuleIndex]:
            clock.now += 0.05
            return {each: RULES[each] for each in buckets}

        intake = Intake(rules, Unreadable(clock), fanout)
        engine = Engine(own, intake, chunk_bytes=INGEST_CHUNK_BYTES)

        def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
            outcome = engine(
                map(received, event["Records"]),
                Policy(),
                now=round(clock() * 1_000),
                remaining=lambda: float(context.get_remaining_time_in_millis()) / 1_000,
            )
            return {"batchItemFailures": [{"itemIdentifier": each} for each in outcome.stay]}

        return handler

    def send(self, bucket: str, number: int) -> None:
        """What S3 does."""
        key = f"{bucket}{number}"
        body = message(record(key, s3__bucket__name=bucket))
        self.put[key] = self.simulation.clock.now
        entries = [{"Id": "0", "MessageBody": body}]
        self.simulation.sqs.send_message_batch(QueueUrl=self.ingress.name, Entries=entries)

    def run(self, *, hours: int, every: int) -> None:
        """Go on for so many hours, with an event of each bucket every so many seconds."""
        todo: dict[float, Callable[[], None]] = {}
        for at in range(0, hours * HOUR, every):
            for index, bucket in enumerate(RULES):
                todo[at + index] = partial(self.send, bucket, at)
        self.simulation.run(days=hours / 24, actions=todo)

    def delays(self) -> Delays:
        """How long the healthy target's events took to its queue."""
        got = {
            each.event.key: kept.sent for kept in self.hook.arrived for each in unpack(kept.body)
        }
        wanted = [key for key in self.put if key.startswith("both")]
        return Delays.of(got.get(key, float("inf")) - self.put[key] for key in wanted)


def test_stuck_messages_delay_no_others() -> None:
    """While each waited in flight, all events of all targets came hours late after a few hours."""
    ingesting = Ingesting()
    ingesting.run(hours=8, every=100)
    assert ingesting.delays().p99 <= 5
    assert not ingesting.simulation.sqs.refused
    assert not ingesting.dead.arrived
