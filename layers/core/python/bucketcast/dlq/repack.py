"""Repack dead letters for a redrive: their events get a full term of retries, without limits.

The time at which an event came to us, `created`, stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from msgspec import structs

from bucketcast.delivery.dead_letters import fit, unwrap
from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.delivery.policy import History
from bucketcast.delivery.queue import Outgoing
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.letter import MOVED_FROM, SENT, Content, Letter, read_content
from bucketcast.limits import MESSAGE_EVENTS


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan for one letter: the events to move, and those to leave in the queue.

    A message as its source sent it goes whole, with neither. `problem` is the reason for which a
    letter must stay as it is.
    """

    letter: Letter
    content: Content
    chosen: Sequence[Delivery] = ()
    remaining: Sequence[Delivery] = ()
    number: int = 0
    problem: str = ""


class Packed(NamedTuple):
    """A message to send, and the letters whose events it holds."""

    message: Outgoing
    plans: Sequence[Plan]


def make_plan(letter: Letter, wanted: Filter, *, ingress: bool) -> Plan | None:
    """Return the plan for a letter; None if the filter excludes it."""
    if not wanted.matches(letter):
        return None
    content = read_content(letter, ingress=ingress)
    indexes = wanted.indexes(letter, content)
    if not indexes:
        return None
    if content.problem or not content.deliveries:
        empty = "" if ingress else "it holds no event"
        return Plan(letter, content, number=len(indexes), problem=content.problem or empty)
    positions = set(indexes)
    chosen = [entry for index, entry in enumerate(content.deliveries) if index in positions]
    remaining = [entry for index, entry in enumerate(content.deliveries) if index not in positions]
    return Plan(letter, content, chosen, remaining, len(chosen))


def limit_events(plan: Plan, most: int) -> Plan:
    """Return the plan with at most so many of its events; the others stay."""
    if plan.number <= most or not plan.chosen:
        return plan
    remaining = [*plan.chosen[most:], *plan.remaining]
    return replace(plan, chosen=plan.chosen[:most], remaining=remaining, number=most)


def repack(plans: Sequence[Plan], *, same_target: bool, most: int = MESSAGE_EVENTS) -> list[Packed]:
    """Pack the chosen events of several letters into as few messages as possible.

    Sent to another target, they lose their topic. With `most` 1 each event is a message of its own,
    as FIFO queues need it.
    """
    messages: list[Packed] = []
    alike: dict[History, list[Plan]] = {}
    for plan in plans:
        history = plan.letter.history if same_target else History()
        if plan.chosen:
            # Each event has its own time of creation.
            after = history._replace(created=0).for_redrive()
            alike.setdefault(after, []).append(plan)
        else:
            after = history.for_redrive(created=plan.letter.sent)
            whole = Outgoing(unwrap(plan.letter.body), history=after)
            messages.append(Packed(whole, [plan]))
    for history, group in alike.items():
        messages += _pack(group, history, most=most)
    return messages


def remaining_messages(plan: Plan) -> list[Outgoing]:
    """Return the letters that hold the events that stay, if any do: in all else they are the old.

    Each event fits into a message, as it was in one.
    """
    old = plan.letter
    attributes = {**old.attributes, SENT: str(old.sent), MOVED_FROM: old.queue_arn}
    return [fit(message.body, attributes) for message in pack(plan.remaining)]


def _pack(plans: Sequence[Plan], history: History, *, most: int) -> list[Packed]:
    origins = [plan for plan in plans for _ in plan.chosen]
    deliveries = [
        structs.replace(entry, reason="", error="") for plan in plans for entry in plan.chosen
    ]
    return [
        Packed(
            # Each time an event is dead-lettered it gets another token; a repeated redrive does not
            # change it.
            Outgoing(
                body,
                history=history,
                token=f"{origins[start].letter.id}-{deliveries[start].copy_id}",
            ),
            list({plan.letter.id: plan for plan in origins[start:stop]}.values()),
        )
        for body, start, stop in pack(deliveries, most)
    ]
