"""Repack dead letters for a redrive: their events get a full term, the rest is left out.

A message without `attempts` begins a term, so redriven events have none. `created`, when an event
came to us, stays: a mirror refuses what is too old.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from bucketcast.delivery.envelope import MAX_EVENTS, Delivery, Envelope, TooLarge, pack
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.letter import Content, Letter, content


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to become of one letter: the events to take, and those to leave in the queue.

    `problem` is why it must stay as it is.
    """

    letter: Letter
    content: Content
    taken: Sequence[Delivery] = ()
    left: Sequence[Delivery] = ()
    number: int = 0
    problem: str = ""


class Packed(NamedTuple):
    """A message to send: its body, the letters whose events it holds, and its own token."""

    body: str
    plans: Sequence[Plan]
    token: str
    events: int


@dataclass(slots=True)
class Repacked:
    """Messages to send, and letters that fit into none."""

    messages: list[Packed] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def plan(letter: Letter, wanted: Filter, now: int, *, ingress: bool) -> Plan | None:
    """Return what the filter asks of a letter; None if nothing."""
    if not wanted.letter(letter, now):
        return None
    found = content(letter, ingress=ingress)
    indexes = wanted.indexes(letter, found)
    if not indexes:
        return None
    if found.problem or not found.deliveries:
        empty = "" if ingress else "it holds no event"
        return Plan(letter, found, number=len(indexes), problem=found.problem or empty)
    chosen = set(indexes)
    taken = [each for index, each in enumerate(found.deliveries) if index in chosen]
    left = [each for index, each in enumerate(found.deliveries) if index not in chosen]
    return Plan(letter, found, taken, left, len(taken))


def first(each: Plan, most: int) -> Plan:
    """Return a plan with no more than so many of its events; the others stay."""
    if each.number <= most or not each.taken:
        return each
    left = [*each.taken[most:], *each.left]
    return replace(each, taken=each.taken[:most], left=left, number=most)


def repacked(plans: Sequence[Plan], now: int, *, same_target: bool, single: bool) -> Repacked:
    """Pack the taken events of several letters into as few messages as hold them.

    Events for another target than their own are no longer limited by a topic. With `single` each
    event is a message of its own, as FIFO queues need it.
    """
    result = Repacked()
    by_topic: dict[str, list[Plan]] = {}
    for each in plans:
        by_topic.setdefault(each.content.topic if same_target else "", []).append(each)
    for topic, group in by_topic.items():
        try:
            result.messages += _packed(group, now, topic, single=single)
        except TooLarge:
            for each in group:
                try:
                    result.messages += _packed([each], now, topic, single=single)
                except TooLarge as error:
                    result.failed[each.letter.id] = str(error)
    return result


def rest(each: Plan, now: int) -> list[str]:
    """Return the bodies that hold what stays of a letter.

    Raises:
        TooLarge: an event fits into no message.
    """
    about = Envelope(now, topic=each.content.topic, reason=each.content.last_reason)
    return [one.body for one in pack(each.left, now, history=about)]


def _packed(plans: Sequence[Plan], now: int, topic: str, *, single: bool) -> list[Packed]:
    origins = [each for each in plans for _ in each.taken]
    indexes = [index for each in plans for index in range(len(each.taken))]
    deliveries = [delivery for each in plans for delivery in each.taken]
    about = Envelope(now, topic=topic)
    most = 1 if single else MAX_EVENTS
    return [
        Packed(
            one.body,
            list({each.letter.id: each for each in origins[one.start : one.stop]}.values()),
            # Another one each time that an event is dead-lettered, the same when this is repeated.
            f"{origins[one.start].letter.id}-{indexes[one.start]}",
            one.stop - one.start,
        )
        for one in pack(deliveries, now, history=about, most=most)
    ]
