"""Ingest: from messages of the ingress queue to deliveries for each target."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Protocol

from msgspec.structs import replace

from bucketcast import sources
from bucketcast.conditions import Fact
from bucketcast.envelope import Delivery
from bucketcast.errors import BadEvent
from bucketcast.event import Event
from bucketcast.rules import Hit, RuleIndex

Rulebook = Callable[[frozenset[str]], Mapping[str, RuleIndex]]
"""Gives the rules in force of these buckets; a bucket without rules may be missing."""
_Matched = tuple[str, Event | None, Collection[Hit]]
"""The id of its message, an event, None if it is not known now, and whom it is for."""


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

    The messages in `stay` could not be settled now and are to be read again, as a whole. `asked`
    are all other events that were read, each with whom the rules sent it to.
    """

    outboxes: dict[str, Outbox] = field(default_factory=dict)
    broken: dict[str, BadEvent] = field(default_factory=dict)
    stay: set[str] = field(default_factory=set)
    asked: list[tuple[Event, Collection[Hit]]] = field(default_factory=list)

    @property
    def events(self) -> int:
        return len(self.asked)


class Facts(Protocol):
    """Where what only the object knows is asked."""

    @property
    def wants(self) -> Mapping[str, Fact]:
        """What a target, by its ARN, is to be told of every object."""

    def caused(self, event: Event) -> bool:
        """Whether the event is there only because something was asked, and is nobody's concern."""

    def told(self, asked: Sequence[tuple[Event, Fact]]) -> Sequence[Event | None]:
        """The same events in the same order, each with what was asked; without, if it is gone.

        None is one of which it cannot be told now.
        """

    @property
    def mirrors(self) -> frozenset[str]:
        """The ARNs of the targets that show what a bucket shows."""

    def uncovers(self, event: Event) -> bool:
        """Whether the key may show another version after it, of which nobody tells."""

    def shown(self, asked: Sequence[tuple[Event, Fact]]) -> Sequence[Event | None]:
        """That the version was put which each event's key shows now; None where it is not known."""


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
    matched = _matched(read, rules, facts)
    routed.stay.update(message for message, event, _ in matched if event is None)
    for message, event, hits in matched:
        if event is None or message in routed.stay:
            continue
        routed.asked.append((event, hits))
        _deliver(routed, message, event, hits)
    if facts and not facts.mirrors.isdisjoint(routed.outboxes):
        _uncover(routed, [each for each in matched if each[0] not in routed.stay], rules, facts)
    return routed


def _deliver(routed: Routed, message: str, event: Event, hits: Iterable[Hit]) -> None:
    for arn, rule, named in hits:
        outbox = routed.outboxes.get(arn)
        if outbox is None:
            outbox = routed.outboxes[arn] = Outbox()
        outbox.deliveries.append(Delivery(rule, event, named))
        outbox.origins.append(message)


def _uncover(
    routed: Routed, settled: Iterable[_Matched], rules: Mapping[str, RuleIndex], facts: Facts
) -> None:
    """Let mirrors know what keys show after one of their versions, or a marker, was removed.

    Each key is asked for once, for the last of its removals, and only for those whom the rules
    send that removal and what is put there.
    """
    last: dict[tuple[str, str], tuple[str, Event]] = {}
    for message, event, hits in settled:
        if event and facts.uncovers(event) and any(hit.arn in facts.mirrors for hit in hits):
            before = last.get((event.bucket, event.key))
            if before is None or before[1].order < event.order:
                last[event.bucket, event.key] = (message, event)
    asking = [(event, _asked_of_a_put(event, rules[event.bucket])) for _, event in last.values()]
    for (message, _), event in zip(last.values(), facts.shown(asking), strict=True):
        if event is not None:
            hits = rules[event.bucket].match(event)
            _deliver(routed, message, event, (hit for hit in hits if hit.arn in facts.mirrors))


def _asked_of_a_put(event: Event, rules: RuleIndex) -> Fact:
    """What rules would ask of the object if the key were put, beyond its head."""
    asks: set[Fact] = set()
    rules.match(replace(event, name="s3:ObjectCreated:Put", size=None), asks)
    return reduce(or_, asks, Fact.HEAD)


def _matched(
    read: Iterable[tuple[str, list[Event]]], rules: Mapping[str, RuleIndex], facts: Facts | None
) -> list[_Matched]:
    """Every event that was read, in its order."""
    wants = facts.wants if facts else {}
    found: list[_Matched] = []
    asking: list[tuple[int, Event, Fact]] = []
    for message, events in read:
        for event in events:
            index = rules.get(event.bucket)
            if index is None or (facts and facts.caused(event)):
                found.append((message, event, ()))
                continue
            asks: set[Fact] = set()
            hits = index.match(event, asks if facts else None)
            if wants:
                likely = index.match(event) if asks else hits
                asks.update(wants[hit.arn] for hit in likely if hit.arn in wants)
            if asks:
                asking.append((len(found), event, reduce(or_, asks)))
            found.append((message, event, hits))
    if facts and asking:
        told = facts.told([(event, fact) for _, event, fact in asking])
        for (place, _, _), known in zip(asking, told, strict=True):
            hits = rules[known.bucket].match(known) if known else ()
            found[place] = (found[place][0], known, hits)
    return found
