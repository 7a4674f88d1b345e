"""From the objects of a bucket to messages for one target's queue."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from itertools import islice
from operator import add
from typing import Final

import msgspec
from pyspark import Accumulator, AccumulatorParam
from pyspark.sql import DataFrame

from bucketcast.envelope import Delivery, pack
from bucketcast.rules import Rule, RuleIndex
from glue_jobs.backfill.receiver import Receiver
from glue_jobs.events import Object, created
from glue_jobs.outbox import MESSAGES, Message

MOST: Final = 200
"""Events in a message, which is what a target tries again; more would save next to nothing."""
_A_SECOND: Final = 10
"""So many messages are a call, which is to hold a second's events and not a minute's."""


@dataclass(slots=True)
class Counts:
    """Objects that were seen, that a rule took, and that one would take if it asked for puts."""

    objects: int = 0
    matched: int = 0
    unasked: int = 0


class Tally(AccumulatorParam[Counts]):
    """How Spark adds up the counts of its tasks."""

    def zero(self, value: Counts) -> Counts:  # noqa: ARG002 - Spark's interface
        return Counts()

    def addInPlace(self, value1: Counts, value2: Counts) -> Counts:  # noqa: N802 - Spark's
        return Counts(*map(add, astuple(value1), astuple(value2)))


def messages(
    objects: DataFrame, to: Receiver, since: int, most: int, tally: Accumulator[Counts]
) -> DataFrame:
    """Rows of `MESSAGES` for the objects that the target's rules take.

    `objects` are rows of `events.Object`; `since` is the moment that they are of, in Unix ms, and
    `most` is how many events a message may hold. The tally is right once the rows were read once.
    """
    rows = objects.rdd.mapPartitions(partial(_messages, to, since, most, tally))
    return objects.sparkSession.createDataFrame(rows, MESSAGES, verifySchema=False)


def _messages(
    to: Receiver,
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
    """The events that the rules take, each by the rule that took it."""
    asked, wide = RuleIndex(rules), RuleIndex(map(_for_any_put, rules))
    for each in objects:
        event = created(each)
        hits = asked.match(event)
        counts.objects += 1
        if hits:
            counts.matched += 1
        elif wide.match(event):
            counts.unasked += 1
        for hit in hits:
            yield Delivery(hit.rule, event, hit.named)


def _for_any_put(rule: Rule) -> Rule:
    return msgspec.structs.replace(rule, events=("s3:ObjectCreated:*",))


def packed(
    deliveries: Iterable[Delivery], to: Receiver, since: int, most: int = MOST
) -> Iterator[Message]:
    """Messages that hold all deliveries in their order; in a FIFO queue one each."""
    left = iter(deliveries)
    while part := list(islice(left, 1 if to.fifo else most)):
        for body, start, stop in pack(part, since):
            group, token = (to.arn, part[start].copy_id) if to.fifo else ("", "")
            yield Message(to.queue, body, stop - start, group, token)


def at_once(rate: int) -> int:
    """How many events a message may hold at a rate, so that one call is no burst."""
    return max(1, min(MOST, rate // _A_SECOND)) if rate else MOST
