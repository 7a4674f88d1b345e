"""Hours of ingest in which much is stuck: what it does to the events of a target that is well.

Rates, and how many messages may be in flight, are a ten-thousandth of what is spoken of.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bucketcast.delivery.envelope import unpack
from bucketcast.destination import Destination
from bucketcast.event import Event
from bucketcast.ingest.routing import Wants
from bucketcast.rules import Rule, RuleIndex
from bucketcast.rules.conditions import Condition
from tests.unit.simulation.ingesting import HOOK, TABLE, Actions, Ingesting
from tests.unit.simulation.lambdas import Clock, Delays
from tests.unit.simulation.sqs import HOUR

PUTS = ("s3:ObjectCreated:*",)
TAGGED = (Condition(on="tag:x", values=("1",)),)
RULES = {
    "both": RuleIndex([Rule(bucket="both", arn=each, events=PUTS) for each in (HOOK, TABLE)]),
    "secret": RuleIndex([Rule(bucket="secret", arn=HOOK, events=PUTS, conditions=TAGGED)]),
}


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


class Stuck(Ingesting):
    """Ingest of two buckets; the queue of the table takes nothing at all."""

    rules = RULES

    def __init__(self) -> None:
        super().__init__(max_concurrency=2, grain=0.1, in_flight_limit=12)
        self.facts = Unreadable(self.simulation.clock)
        self.table.broken = True
        self.put: dict[str, float] = {}

    def look_up(self, buckets: frozenset[str]) -> Mapping[str, RuleIndex]:
        self.simulation.clock.now += 0.05
        return super().look_up(buckets)

    def put_one(self, bucket: str, number: int) -> None:
        key = f"{bucket}{number}"
        self.put[key] = self.simulation.clock.now
        self.send(key, bucket=bucket)

    def run(self, *, hours: int, every: int) -> None:
        """Go on for so many hours, with an event of each bucket every so many seconds."""
        todo: Actions = {}
        for at in range(0, hours * HOUR, every):
            for index, bucket in enumerate(RULES):
                todo[at + index] = partial(self.put_one, bucket, at)
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
    ingesting = Stuck()
    ingesting.run(hours=8, every=100)
    assert ingesting.delays().p99 <= 5
    assert not ingesting.simulation.sqs.refused
    assert not ingesting.dead.arrived
