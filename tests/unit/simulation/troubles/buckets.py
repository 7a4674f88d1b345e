"""The rows of "a bucket": ingest of two buckets, one of which gives trouble."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

from bucketcast.delivery.envelope import unpack
from bucketcast.limits import INGEST_CONCURRENCY
from bucketcast.rules import Rule, RuleIndex
from bucketcast.rules.conditions import Condition
from tests.unit.simulation.ingesting import HOOK, Actions, Reading
from tests.unit.simulation.sqs import DAY, HOUR, MINUTE
from tests.unit.simulation.troubles.cell import Bounds, Cell, Seen, price

PUTS = ("s3:ObjectCreated:*",)
TAGGED = (Condition(on="tag:x", values=("1",)),)
DURATION = 20 * MINUTE
BUILD_SECONDS = 2.0
"""To read `MOST_BUCKET_RULES_BYTES`: 0.5 s of a processor, of which ingest has 0.29."""
TROUBLED, OTHER = "troubled", "other"
RULES = {
    name: RuleIndex([Rule(bucket=name, arn=HOOK, events=PUTS, conditions=TAGGED)])
    for name in (TROUBLED, OTHER)
}


class Buckets(Reading):
    """Two buckets whose rules ask for tags of objects."""

    rules = RULES

    def arrived(self) -> dict[str, list[float]]:
        """When events came to the target's queue, by key."""
        times: dict[str, list[float]] = {key: [] for key in self.put}
        for kept in self.hook.arrived:
            for delivery in unpack(kept.body):
                times[delivery.event.key].append(kept.sent)
        return times

    def faults(self) -> list[str]:
        times = self.arrived().values()
        found = {
            "events lost": sum(not each for each in times),
            "events repeated more than once": sum(len(each) > 2 for each in times),
            "calls that SQS refused": len(self.simulation.sqs.refused),
        }
        return [f"{number} {what}" for what, number in found.items() if number]


class LargestRules(Buckets):
    """A bucket with the largest rules that may be written, which change every minute."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self._read_at: list[float] = []

    def look_up(self, buckets: frozenset[str]) -> Mapping[str, RuleIndex]:
        """Let each function that may run read the rules of the minute once."""
        now = self.simulation.clock.now
        self._read_at = [at for at in self._read_at if at // MINUTE == now // MINUTE]
        if TROUBLED in buckets and len(self._read_at) < INGEST_CONCURRENCY:
            self._read_at.append(now)
            self.simulation.clock.now += BUILD_SECONDS
        return super().look_up(buckets)


def of_a_bucket(
    how: str,
    *,
    a_second: float = 1,
    duration: float = DURATION,
    kind: type[Buckets] = Buckets,
    at_once: int = 2,
) -> Seen:
    """Play a while in which S3 answers so for a bucket, and an hour in which it is well again."""
    one = kind(max_concurrency=at_once)
    one.s3.how[TROUBLED] = how
    todo: Actions = {}
    for number in range(round(a_second * duration)):
        todo[number / a_second + 0.01] = partial(one.put_one, TROUBLED, number)
    for second in range(round(duration)):
        todo[second] = partial(one.put_one, OTHER, second)
    start = one.simulation.clock.now
    one.run(duration, todo)
    others = one.delays(OTHER)
    cost, asked = price(one.simulation), one.s3.asked[TROUBLED]
    one.s3.how.clear()
    one.run(HOUR, {})
    hours = duration / HOUR
    return Seen(
        others,
        tries=0 if how == "well" else asked / hours * 24,
        dollars=cost / hours,
        dead=Counter(kept.attributes["reason"]["StringValue"] for kept in one.dead.arrived),
        back=max(at for times in one.arrived().values() for at in times) - start - duration,
        faults=tuple(one.faults()),
    )


_ASKED = Bounds(tries=100 * DAY / DURATION)

CELLS = (
    Cell("a bucket", "its objects may not be read", partial(of_a_bucket, "denies"), _ASKED),
    Cell("a bucket", "S3 throttles it", partial(of_a_bucket, "throttles"), _ASKED),
    Cell("a bucket", "S3 does not answer", partial(of_a_bucket, "hangs"), _ASKED),
    Cell(
        "a bucket",
        "a million events in an hour",
        partial(
            of_a_bucket,
            "well",
            a_second=1_000_000 / HOUR,
            duration=MINUTE / 4,
            at_once=INGEST_CONCURRENCY,
        ),
        Bounds(),
    ),
    Cell(
        "a bucket",
        "it has the largest rules, changed each minute",
        partial(
            of_a_bucket,
            "well",
            a_second=4,
            duration=5 * MINUTE,
            kind=LargestRules,
            at_once=INGEST_CONCURRENCY,
        ),
        Bounds(),
    ),
)
