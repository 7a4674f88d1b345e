"""Convert the objects of a bucket to messages for one target's queue."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import islice
from operator import add
from typing import Any, Final

from msgspec.structs import force_setattr
from pyspark import Accumulator, AccumulatorParam

from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.delivery.queue import together
from bucketcast.event import Event
from bucketcast.mirror.synthetic import Object, created, marked, time_of
from bucketcast.rules import Rule, RuleIndex
from glue_jobs.backfill.destination import Destination
from glue_jobs.outbox.chunks import Message

MAX_EVENTS: Final = 200
"""Events of one message, the unit that a target retries; more would save very little."""
_CALLS_PER_SECOND: Final = 10
"""Calls of ten messages: messages are so small that a call has the events of 0.1 s, not of 60 s."""


@dataclass(slots=True)
class Counts:
    """Objects that were listed, and that a rule matched."""

    objects: int = 0
    matched: int = 0


class Tally(AccumulatorParam[Counts]):
    """Spark's sum of the counts of its tasks."""

    def zero(self, value: Counts) -> Counts:  # noqa: ARG002 - Spark's interface
        return Counts()

    def addInPlace(self, value1: Counts, value2: Counts) -> Counts:  # noqa: N802 - Spark's
        return Counts(*map(add, astuple(value1), astuple(value2)))


def _event(row: Sequence[Any]) -> Event:
    """Return the event of a row of `Object`."""
    listed = Object(*row)
    return marked(listed) if listed.is_delete_marker else created(listed)


def pack_objects(
    to: Destination,
    since: int,
    max_events: int,
    tally: Accumulator[Counts],
    rows: Iterable[Any],
) -> Iterator[Message]:
    """Yield messages with the objects that the target's rules match, and count them.

    `since` is when they were listed, in Unix ms, and `max_events` is a limit. The tally is right
    after the rows were read exactly once.
    """
    counts = Counts()
    deliveries = match(map(_event, rows), to.rules, counts)
    yield from pack_deliveries(deliveries, to, since, max_events)
    tally.add(counts)


def match(events: Iterable[Event], rules: Collection[Rule], counts: Counts) -> Iterator[Delivery]:
    """Yield the events that the rules match, each with its rule."""
    index = RuleIndex(rules)
    for each in events:
        hits = index.match(each)
        counts.objects += 1
        counts.matched += bool(hits)
        for hit in hits:
            yield Delivery(hit.rule, each, hit.named)


def pack_deliveries(
    deliveries: Iterable[Delivery], to: Destination, since: int, max_events: int = MAX_EVENTS
) -> Iterator[Message]:
    """Yield messages with all deliveries in their order."""
    remaining = iter(deliveries)
    while part := list(islice(remaining, together(to.queue, max_events))):
        for delivery in part:
            force_setattr(delivery.event, "listed", time_of(since))
        for body, start, stop in pack(part):
            yield Message(body, stop - start, part[start].copy_id)


def events_per_message(rate: int) -> int:
    """Return the limit of a message's events with which one call does not exceed the rate."""
    return max(1, min(MAX_EVENTS, rate // _CALLS_PER_SECOND)) if rate else MAX_EVENTS
