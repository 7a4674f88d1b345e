"""The real way from the ingress queue to targets' queues, on the simulated clock."""

from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

from bucketcast.delivery.consumer import Consumer
from bucketcast.delivery.dead_letters import write
from bucketcast.delivery.engine import Engine
from bucketcast.delivery.envelope import unpack
from bucketcast.delivery.messages import message as received
from bucketcast.delivery.policy import Policy
from bucketcast.delivery.queue import Queue
from bucketcast.ingest.fanout import Fanout
from bucketcast.ingest.intake import Intake
from bucketcast.ingest.routing import Facts
from bucketcast.limits import INGEST_CHUNK_BYTES
from bucketcast.rules import RuleIndex
from bucketcast.settings.environment import ANY_BUCKET, ObjectFacts
from tests.unit.ingest.routed import object_reader
from tests.unit.samples import message, record
from tests.unit.simulation.lambdas import Delays, Function, Handler, Simulation
from tests.unit.simulation.s3 import SimulatedS3, side_by_side
from tests.unit.simulation.sqs import DAY, SimulatedQueue

HOOK = "arn:minio:sqs::primary:webhook"
TABLE = "arn:minio:sqs::_:postgresql"
GONE = "arn:minio:sqs::gone:redis"
TIMEOUT = 30
Actions = dict[float, Callable[[], None]]
"""What happens in a simulation, by seconds from now."""


class Ingesting:
    """Ingest with two deployed targets; what S3 put is sent to its queue a message a key."""

    rules: Mapping[str, RuleIndex]

    def __init__(
        self,
        *,
        seed: int = 0,
        grain: float = 10.0,
        max_concurrency: int = 1,
        end: str = "",
    ) -> None:
        self.simulation = Simulation(seed)
        self._end = end
        add = self.simulation.sqs.add
        self.dead = add(SimulatedQueue("sqs/B-ingress-dead"))
        self.ingress = add(SimulatedQueue("sqs/B-ingress", visibility=TIMEOUT + 30, dead=self.dead))
        self.hook = add(SimulatedQueue(f"sqs/B-webhook-primary{end}"))
        self.table = add(SimulatedQueue(f"sqs/B-postgres-_{end}"))
        self.gone = add(SimulatedQueue(f"sqs/B-redis-gone{end}", refuses="AccessDenied"))
        self.simulation.functions.append(
            Function(
                self.ingress,
                self.environment,
                timeout=TIMEOUT,
                max_concurrency=max_concurrency,
                grain=grain,
            )
        )

    def look_up(self, buckets: frozenset[str]) -> Mapping[str, RuleIndex]:
        """What is in the state table."""
        return {bucket: self.rules[bucket] for bucket in buckets & self.rules.keys()}

    def facts(self) -> Facts | None:
        """What one function knows of objects."""
        return None

    def fanout(self, client: Any) -> Fanout:
        made = Fanout(f"sqs/B-*{self._end}", client, deployed={HOOK, TABLE}.__contains__)
        # For calls that take no time threads are dear.
        in_turn: Any = SimpleNamespace(map=lambda act, each: list(map(act, each)))
        made._pool = in_turn
        return made

    def environment(self) -> Handler:
        client: Any = self.simulation.sqs
        dead = Queue(self.dead.name, client)
        fanout = self.fanout(client)
        own = Consumer(Queue(self.ingress.name, client), partial(write, queue=dead))
        intake = Intake(self.look_up, self.facts(), fanout)
        engine = Engine(own, intake, chunk_bytes=INGEST_CHUNK_BYTES)

        def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
            self.on_call([entry["body"] for entry in event["Records"]])
            outcome = engine(
                map(received, event["Records"]),
                Policy(),
                now=round(self.simulation.clock() * 1_000),
                remaining=lambda: float(context.get_remaining_time_in_millis()) / 1_000,
            )
            return {"batchItemFailures": [{"itemIdentifier": name} for name in outcome.stay]}

        return handler

    def on_call(self, bodies: list[str]) -> None:
        """Look at the messages of a call before it begins."""

    def send(self, *keys: str, bucket: str = "uploads") -> None:
        """What S3 does: a message a key, with no attributes."""
        entries = [
            {"Id": str(number), "MessageBody": message(record(key, s3__bucket__name=bucket))}
            for number, key in enumerate(keys)
        ]
        self.simulation.sqs.send_message_batch(QueueUrl=self.ingress.name, Entries=entries)


class Reading(Ingesting):
    """Ingest that asks S3 about objects."""

    def __init__(self, **more: Any) -> None:
        super().__init__(grain=0.1, **more)
        self.s3 = SimulatedS3()
        self.put: dict[str, float] = {}

    def facts(self) -> Facts:
        client: Any = self.s3
        return object_reader(client, ObjectFacts(frozenset({ANY_BUCKET})))

    def put_one(self, bucket: str, number: float) -> None:
        key = f"{bucket}{number}"
        self.put[key] = self.simulation.clock.now
        self.send(key, bucket=bucket)

    def run(self, seconds: float, todo: Actions) -> None:
        with side_by_side(self.s3, self.simulation.clock):
            self.simulation.run(days=seconds / DAY, actions=todo)

    def delays(self, bucket: str) -> Delays:
        """How long events of a bucket took to the healthy target's queue."""
        got = {
            each.event.key: kept.sent for kept in self.hook.arrived for each in unpack(kept.body)
        }
        wanted = [key for key in self.put if key.startswith(bucket)]
        return Delays.of(got.get(key, float("inf")) - self.put[key] for key in wanted)
