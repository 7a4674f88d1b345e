"""Ingest: from messages of the ingress queue to deliveries for each target."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Protocol

from bucketcast import sources
from bucketcast.conditions import Fact
from bucketcast.envelope import Delivery
from bucketcast.errors import BadEvent
from bucketcast.event import Event
from bucketcast.rules import Hit, RuleIndex

Rulebook = Callable[[frozenset[str]], Mapping[str, RuleIndex]]
"""Gives the rules in force of these buckets; a bucket without rules may be missing."""


@dataclass(slots=True)
class Outbox:
    """What one target gets; `origins[i]` is the message that `deliveries[i]` came in."""

    deliveries: list[Delivery] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)

    def without(self, place: int) -> "Outbox":
        """The same but for one delivery."""
        left = [kept for kept in range(len(self.deliveries)) if kept != place]
        return Outbox([self.deliveries[i] for i in left], [self.origins[i] for i in left])


@dataclass(slots=True)
class Routed:
    """Where the events of a batch go, by ARN, and which messages are broken, by id.

    `asked` are all events that were read, each with whom the rules sent it to.
    """

    outboxes: dict[str, Outbox] = field(default_factory=dict)
    broken: dict[str, BadEvent] = field(default_factory=dict)
    asked: list[tuple[Event, Collection[Hit]]] = field(default_factory=list)

    @property
    def events(self) -> int:
        return len(self.asked)


class Facts(Protocol):
    """Where what only the object knows is asked."""

    @property
    def wants(self) -> Mapping[str, Fact]:
        """What a target, by its ARN, is to be told of every object."""

    def told(self, asked: Sequence[tuple[Event, Fact]]) -> Sequence[Event]:
        """The same events in the same order, each with what was asked; without, if it is gone."""


def route(
    messages: Iterable[tuple[str, str]], rulebook: Rulebook, facts: Facts | None = None
) -> Routed:
    """Read (id, body) messages and ask the rules about each event.

    A broken message ends in `broken` as a whole, and its neighbours go on. An object is looked at
    only where a rule that would match turns on it, or the target wants it; without `facts` what an
    event does not say stays unknown.
    """
    routed = Routed()
    read: list[tuple[str, list[Event]]] = []
    for message, body in messages:
        try:
            events = sources.events(body)
        except BadEvent as error:
            routed.broken[message] = error
        else:
            read.append((message, events))
    rules = rulebook(frozenset(event.bucket for _, events in read for event in events))
    for message, event, hits in _matched(read, rules, facts):
        routed.asked.append((event, hits))
        for arn, rule in hits:
            outbox = routed.outboxes.get(arn)
            if outbox is None:
                outbox = routed.outboxes[arn] = Outbox()
            outbox.deliveries.append(Delivery(rule, event))
            outbox.origins.append(message)
    return routed


def _matched(
    read: Iterable[tuple[str, list[Event]]], rules: Mapping[str, RuleIndex], facts: Facts | None
) -> list[tuple[str, Event, Collection[Hit]]]:
    """Every event, with the id of its message and whom it is for."""
    wants = facts.wants if facts else {}
    found: list[tuple[str, Event, Collection[Hit]]] = []
    asking: list[tuple[int, Fact]] = []
    for message, events in read:
        for event in events:
            index = rules.get(event.bucket)
            if index is None:
                found.append((message, event, ()))
                continue
            asks: set[Fact] = set()
            hits = index.match(event, asks if facts else None)
            if wants:
                asks.update(wants[arn] for arn, _ in hits if arn in wants)
            if asks:
                asking.append((len(found), reduce(or_, asks)))
            found.append((message, event, hits))
    if facts and asking:
        told = facts.told([(found[place][1], fact) for place, fact in asking])
        for (place, _), event in zip(asking, told, strict=True):
            found[place] = (found[place][0], event, rules[event.bucket].match(event))
    return found
