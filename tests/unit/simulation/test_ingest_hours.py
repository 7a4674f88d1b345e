"""Hours of ingest in which much is stuck: what it does to the events of a target that is well.

Rates, and how many messages may be in flight, are a ten-thousandth of what is spoken of.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from bucketcast.delivery.envelope import unpack
from bucketcast.ingest.routing import Facts
from bucketcast.rules import Rule, RuleIndex
from bucketcast.rules.conditions import Condition
from bucketcast.settings.environment import ANY_BUCKET, ObjectFacts
from tests.unit.ingest.routed import object_reader
from tests.unit.simulation.ingesting import HOOK, TABLE, Actions, Ingesting
from tests.unit.simulation.lambdas import Delays
from tests.unit.simulation.s3 import SimulatedS3, side_by_side
from tests.unit.simulation.sqs import DAY, HOUR

TROUBLE = 600
"""Seconds in which a bucket cannot be read."""
PUTS = ("s3:ObjectCreated:*",)
TAGGED = (Condition(on="tag:x", values=("1",)),)
RULES = {
    "both": RuleIndex([Rule(bucket="both", arn=each, events=PUTS) for each in (HOOK, TABLE)]),
    **{
        name: RuleIndex([Rule(bucket=name, arn=HOOK, events=PUTS, conditions=TAGGED)])
        for name in ("secret", "tagged")
    },
}


class Reading(Ingesting):
    """Ingest that asks S3 about objects."""

    rules = RULES

    def __init__(self, **more: Any) -> None:
        super().__init__(max_concurrency=2, grain=0.1, **more)
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


class Stuck(Reading):
    """Ingest of two buckets; the queue of the table takes nothing at all."""

    def __init__(self) -> None:
        super().__init__(in_flight_limit=12)
        self.s3.how["secret"] = "denies"
        self.table.broken = True

    def look_up(self, buckets: frozenset[str]) -> Mapping[str, RuleIndex]:
        self.simulation.clock.now += 0.05
        return super().look_up(buckets)


def test_stuck_messages_delay_no_others() -> None:
    """While each waited in flight, all events of all targets came hours late after a few hours."""
    ingesting = Stuck()
    todo: Actions = {}
    for at in range(0, 8 * HOUR, 100):
        for index, bucket in enumerate(("both", "secret")):
            todo[at + index] = partial(ingesting.put_one, bucket, at)
    ingesting.run(8 * HOUR, todo)
    assert ingesting.delays("both").p99 <= 5
    assert not ingesting.simulation.sqs.refused
    assert not ingesting.dead.arrived


@pytest.mark.parametrize("how", ["hangs", "throttles", "denies"])
def test_a_bucket_that_cannot_be_read_delays_no_other(how: str) -> None:
    """Its reads took all threads, and every batch waited for them."""
    one = Reading()
    one.s3.how["secret"] = how
    todo: Actions = {}
    for second in range(TROUBLE):
        todo[second] = partial(one.put_one, "tagged", second)
        for fifth in range(5):
            at = second + fifth / 5 + 0.01
            todo[at] = partial(one.put_one, "secret", at)
    one.run(TROUBLE, todo)
    function = one.simulation.functions[0]
    assert one.delays("tagged").p99 <= 5
    assert one.s3.asked["secret"] <= 100, "of 3,000 events"
    assert function.seconds <= TROUBLE / 2
    one.s3.how.clear()
    one.run(1_200, {})
    assert one.delays("secret").most <= TROUBLE + 1_200, "nothing is lost"
    assert not one.ingress.messages
    assert not one.simulation.sqs.refused
    assert not one.dead.arrived
