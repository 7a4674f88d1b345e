"""Convert the objects of a bucket to messages for one target's queue."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from itertools import islice
from operator import add
from typing import Final

import msgspec
from msgspec.structs import force_setattr
from pyspark import Accumulator, AccumulatorParam
from pyspark.sql import DataFrame

from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.delivery.queue import together
from bucketcast.rules import Rule, RuleIndex
from glue_jobs.backfill.destination import Destination
from glue_jobs.events import Object, created
from glue_jobs.outbox import MESSAGES, Message

MOST: Final = 200
"""Events per message, the unit that a target retries; more would save next to nothing."""
_CALLS_A_SECOND: Final = 10
"""Messages are kept so small that a call of ten holds one second's events, not a minute's."""


@dataclass(slots=True)
class Counts:
    """Objects that were listed, that a rule matched, and that only lack a rule for puts."""

    objects: int = 0
    matched: int = 0
    without_put_rule: int = 0


class Tally(AccumulatorParam[Counts]):
    """Spark's sum of the counts of its tasks."""

    def zero(self, value: Counts) -> Counts:  # noqa: ARG002 - Spark's interface
        return Counts()

    def addInPlace(self, value1: Counts, value2: Counts) -> Counts:  # noqa: N802 - Spark's
        return Counts(*map(add, astuple(value1), astuple(value2)))


def messages(
    objects: DataFrame, to: Destination, since: int, most: int, tally: Accumulator[Counts]
) -> DataFrame:
    """Return rows of `MESSAGES` for the objects that the target's rules match.

    `objects` are rows of `events.Object`, `since` is their time in Unix ms, and `most` is how many
    events a message may hold. The tally is right after the rows were read exactly once.
    """
    rows = objects.rdd.mapPartitions(partial(_messages, to, since, most, tally))
    return objects.sparkSession.createDataFrame(rows, MESSAGES, verifySchema=False)


def _messages(
    to: Destination,
    since: int,
    most: int,
    tally: Accumulator[Counts],
    rows: Iterable[Sequence[object]],
) -> Iterator[Message]:
    counts = Counts()
    objects = (Object(*row) for row in rows)  # type: ignore[arg-type]  # a row of those columns
    yield from packed(matched(objects, to.rules, counts), to, since, most)
    tally.add(counts)


def matched(
    objects: Iterable[Object], rules: Collection[Rule], counts: Counts
) -> Iterator[Delivery]:
    """Yield the events that the rules match, each with its rule."""
    index, any_put = RuleIndex(rules), RuleIndex(map(_for_any_put, rules))
    for each in objects:
        event = created(each)
        hits = index.match(event)
        counts.objects += 1
        if hits:
            counts.matched += 1
        elif any_put.match(event):
            counts.without_put_rule += 1
        for hit in hits:
            yield Delivery(hit.rule, event, hit.named)


def _for_any_put(rule: Rule) -> Rule:
    return msgspec.structs.replace(rule, events=("s3:ObjectCreated:*",))


def packed(
    deliveries: Iterable[Delivery], to: Destination, since: int, most: int = MOST
) -> Iterator[Message]:
    """Yield messages with all deliveries in their order."""
    left = iter(deliveries)
    while part := list(islice(left, together(to.queue, most))):
        for each in part:
            force_setattr(each, "created", since)
        for body, start, stop in pack(part):
            yield Message(to.queue, body, stop - start, part[start].copy_id)


def at_once(rate: int) -> int:
    """Return how many events a message may hold, so that one call does not exceed the rate."""
    return max(1, min(MOST, rate // _CALLS_A_SECOND)) if rate else MOST
