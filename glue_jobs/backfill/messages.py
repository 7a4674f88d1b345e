"""Convert the objects of a bucket to messages for one target's queue."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from msgspec.structs import force_setattr
from pyspark import Accumulator

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


def _event(row: Sequence[Any]) -> Event:
    """Return the event of a row of `Object`."""
    listed = Object(*row)
    return marked(listed) if listed.is_delete_marker else created(listed)


def pack_objects(
    to: Destination,
    since: int,
    max_events: int,
    objects: Accumulator[int],
    matched: Accumulator[int],
    rows: Iterable[Any],
) -> Iterator[Message]:
    """Yield messages with the objects that the target's rules match, and count both.

    `since` is when they were listed, in Unix ms, and `max_events` is a limit. The counts are right
    after the rows were read exactly once.
    """
    deliveries = match(map(_event, rows), to.rules, objects, matched)
    yield from pack_deliveries(deliveries, to, since, max_events)


def match(
    events: Iterable[Event],
    rules: Collection[Rule],
    objects: Accumulator[int],
    matched: Accumulator[int],
) -> Iterator[Delivery]:
    """Yield the events that the rules match, each with its rule; count all, and these."""
    index = RuleIndex(rules)
    for each in events:
        hits = index.match(each)
        objects.add(1)
        matched.add(bool(hits))
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
