"""From the objects of a bucket to messages for one target's queue."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final, NamedTuple, Self

import msgspec
from pyspark import Accumulator
from pyspark.sql import DataFrame, SparkSession

from bucketcast.envelope import Delivery, pack
from bucketcast.rules import Rule, RuleIndex
from glue_jobs.backfill.receiver import Receiver
from glue_jobs.events import Object, created
from glue_jobs.outbox import MESSAGES, Message

MOST: Final = 200
"""Events in a message: SQS bills by 64 KB, into which about so many go."""
_A_SECOND: Final = 10
"""So many messages are a call, which is to hold a second's events and not a minute's."""


class Tally(NamedTuple):
    """Objects that were seen, that a rule took, and that one would take if it asked for puts."""

    objects: Accumulator[int]
    matched: Accumulator[int]
    unasked: Accumulator[int]

    @classmethod
    def of(cls, spark: SparkSession) -> Self:
        return cls(*(spark.sparkContext.accumulator(0) for _ in cls._fields))


def messages(objects: DataFrame, to: Receiver, since: int, most: int, tally: Tally) -> DataFrame:
    """Rows of `MESSAGES` for the objects that the target's rules take.

    `objects` are rows of `events.Object`; `since` is the moment that they are of, in Unix ms, and
    `most` is how many events a message may hold. The tally is right once the rows were read once.
    """
    rows = objects.rdd.mapPartitions(partial(_messages, to, since, most, tally))
    return objects.sparkSession.createDataFrame(rows, MESSAGES, verifySchema=False)


def _messages(
    to: Receiver, since: int, most: int, tally: Tally, rows: Iterable[Sequence[object]]
) -> Iterator[Message]:
    objects = (Object(*row) for row in rows)  # type: ignore[arg-type]  # a row of those columns
    return packed(matched(objects, to.rules, tally), to, since, most)


def matched(objects: Iterable[Object], rules: Iterable[Rule], tally: Tally) -> Iterator[Delivery]:
    """The events that the rules take, each by the rule that took it."""
    asked = RuleIndex(rules)
    wide = RuleIndex(
        msgspec.structs.replace(rule, events=("s3:ObjectCreated:*",)) for rule in rules
    )
    seen = taken = unasked = 0
    for each in objects:
        event = created(each)
        hits = asked.match(event)
        seen += 1
        taken += bool(hits)
        unasked += not hits and bool(wide.match(event))
        for hit in hits:
            yield Delivery(hit.rule, event)
    tally.objects.add(seen)
    tally.matched.add(taken)
    tally.unasked.add(unasked)


def packed(
    deliveries: Iterable[Delivery], to: Receiver, since: int, most: int = MOST
) -> Iterator[Message]:
    """Messages that hold all deliveries in their order; in a FIFO queue one each."""
    left = iter(deliveries)
    while part := list(islice(left, 1 if to.fifo else most)):
        for body, start, stop in pack(part, since):
            group, token = (to.arn, part[start].event.id) if to.fifo else ("", "")
            yield Message(to.queue, body, stop - start, group, token)


def at_once(rate: int) -> int:
    """How many events a message may hold at a rate, so that one call is no burst."""
    return max(1, min(MOST, rate // _A_SECOND)) if rate else MOST
