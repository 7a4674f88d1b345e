"""An hour of ingest in which much is stuck: what it does to events of a target that is well.

Rates, and how many messages may be in flight, are a ten-thousandth of what is spoken of.
"""

from collections.abc import Mapping
from functools import partial

from bucketcast.rules import Rule, RuleIndex
from bucketcast.rules.conditions import Condition
from tests.unit.simulation.ingesting import HOOK, TABLE, Actions, Reading
from tests.unit.simulation.sqs import HOUR

PUTS = ("s3:ObjectCreated:*",)
TAGGED = (Condition(on="tag:x", values=("1",)),)
RULES = {
    "both": RuleIndex([Rule(bucket="both", arn=each, events=PUTS) for each in (HOOK, TABLE)]),
    "secret": RuleIndex([Rule(bucket="secret", arn=HOOK, events=PUTS, conditions=TAGGED)]),
}


class Stuck(Reading):
    """Ingest of two buckets; the queue of the table takes nothing at all."""

    rules = RULES

    def __init__(self) -> None:
        super().__init__(max_concurrency=2, in_flight_limit=12)
        self.s3.how["secret"] = "denies"
        self.table.broken = True

    def look_up(self, buckets: frozenset[str]) -> Mapping[str, RuleIndex]:
        self.simulation.clock.now += 0.05
        return super().look_up(buckets)


def test_stuck_messages_delay_no_others() -> None:
    """While each waited in flight, all events of all targets came hours late after ten minutes."""
    ingesting = Stuck()
    todo: Actions = {}
    for at in range(0, HOUR, 100):
        for index, bucket in enumerate(("both", "secret")):
            todo[at + index] = partial(ingesting.put_one, bucket, at)
    ingesting.run(HOUR, todo)
    assert ingesting.delays("both").p99 <= 5
    assert not ingesting.simulation.sqs.refused
    assert not ingesting.dead.arrived
