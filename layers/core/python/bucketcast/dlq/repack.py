"""Repack dead letters for a redrive: their events get a full term, without limits.

`created`, when an event came to us, stays: a mirror refuses what is too old.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from msgspec import structs

from bucketcast.delivery import dead_letters
from bucketcast.delivery.dead_letters import Dead
from bucketcast.delivery.envelope import Delivery, TooLarge, pack, unwrapped
from bucketcast.delivery.policy import History
from bucketcast.delivery.queue import Outgoing
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.letter import Content, Letter, content
from bucketcast.limits import MAX_EVENTS


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to become of one letter: the events to take, and those to leave in the queue.

    A message that is as its source sent it goes whole, with neither. `problem` is why a letter must
    stay as it is.
    """

    letter: Letter
    content: Content
    taken: Sequence[Delivery] = ()
    left: Sequence[Delivery] = ()
    number: int = 0
    problem: str = ""


class Packed(NamedTuple):
    """A message to send, and the letters whose events it holds."""

    message: Outgoing
    plans: Sequence[Plan]


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


def repacked(plans: Sequence[Plan], *, same_target: bool, most: int = MAX_EVENTS) -> Repacked:
    """Pack the taken events of several letters into as few messages as hold them.

    For another target than their own they are no topic's any more. With `most` 1 each event is a
    message of its own, as FIFO queues need it.
    """
    result = Repacked()
    alike: dict[History, list[Plan]] = {}
    for each in plans:
        history = each.letter.history if same_target else History()
        if each.taken:
            told = history._replace(created=0).for_redrive()  # each event says when it was created
            alike.setdefault(told, []).append(each)
        else:
            told = history.for_redrive(created=each.letter.sent)
            whole = Outgoing(unwrapped(each.letter.body), history=told)
            result.messages.append(Packed(whole, [each]))
    for history, group in alike.items():
        try:
            result.messages += _packed(group, history, most=most)
        except TooLarge:
            for each in group:
                try:
                    result.messages += _packed([each], history, most=most)
                except TooLarge as error:
                    result.failed[each.letter.id] = str(error)
    return result


def rest(each: Plan) -> list[Outgoing]:
    """Return the same letter with the events that stay, if any do.

    Raises:
        TooLarge: an event fits into no message.
    """
    old = each.letter
    whole = Dead(old.body, old.history, old.error, old.reason, old.attribute("rule"))
    return [
        dead_letters.letter(whole._replace(body=one.body), old.attribute("target"))
        for one in pack(each.left)
    ]


def _packed(plans: Sequence[Plan], history: History, *, most: int) -> list[Packed]:
    origins = [each for each in plans for _ in each.taken]
    taken = [structs.replace(one, reason="", error="") for each in plans for one in each.taken]
    return [
        Packed(
            # The token is another one each time that an event is dead-lettered, the same when this
            # is repeated.
            Outgoing(
                body, history=history, token=f"{origins[start].letter.id}-{taken[start].copy_id}"
            ),
            list({each.letter.id: each for each in origins[start:stop]}.values()),
        )
        for body, start, stop in pack(taken, most)
    ]
