"""From messages of the ingress queue to deliveries for each target: what the rules say."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Protocol

from msgspec.structs import replace

from bucketcast import sources
from bucketcast.conditions import Fact
from bucketcast.envelope import Delivery
from bucketcast.errors import BadEvent, BucketcastError
from bucketcast.event import Event
from bucketcast.listening import is_listener
from bucketcast.rules import Hit, RuleIndex
from bucketcast.telemetry import logger

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

    def part(self, half: int) -> "Outbox":
        """The first half of it, or the second."""
        middle = len(self.deliveries) // 2
        which = slice(middle, None) if half else slice(middle)
        return Outbox(self.deliveries[which], self.origins[which])


@dataclass(slots=True)
class Routed:
    """Where the events of a batch go, by ARN, and which messages are broken, by id.

    The messages in `failed` could not be settled now and are to be read again, as a whole. `asked`
    are all other events that were read, each with whom the rules sent it to.
    """

    outboxes: dict[str, Outbox] = field(default_factory=dict)
    broken: dict[str, BadEvent] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)
    asked: list[tuple[Event, Collection[Hit]]] = field(default_factory=list)

    @property
    def events(self) -> int:
        return len(self.asked)


class NotToldError(BucketcastError):
    """S3 could not be asked about an object, of which a rule or a target wants to know more."""


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

    A broken message ends in `broken` as a whole, one over which we stumble ourselves in `failed`,
    and their neighbours go on. An object is looked at only where a rule that would match turns on
    it, or the target wants it; without `facts` what an event does not say stays unknown.
    """
    routed = Routed()
    read: list[tuple[str, list[Event]]] = []
    for message, body in messages:
        try:
            events = sources.events(body)
        except BadEvent as error:
            routed.broken[message] = error
        except Exception as error:  # noqa: BLE001 - a source's own bug must not stop the neighbours
            routed.failed[message] = error
        else:
            read.append((message, events))
    try:
        rules = rulebook(frozenset(event.bucket for _, events in read for event in events))
    except Exception as error:  # noqa: BLE001 - whatever the table's trouble is, all of them wait
        routed.failed |= dict.fromkeys((message for message, _ in read), error)
        return routed
    matched = _matched(read, rules, facts, routed.failed)
    for message, event, hits in matched:
        if event is None or message in routed.failed:
            continue
        routed.asked.append((event, _by_rules(hits)))
        _deliver(routed, message, event, hits)
    if facts and not facts.mirrors.isdisjoint(routed.outboxes):
        _uncover(routed, [each for each in matched if each[0] not in routed.failed], rules, facts)
    return routed


def _by_rules(hits: Collection[Hit]) -> Collection[Hit]:
    """Without listeners, who come and go and leave no trace."""
    return [hit for hit in hits if not is_listener(hit.arn)]


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
    try:
        shown = facts.shown(asking)
    except Exception:  # noqa: BLE001 - as where it is not known: the removals themselves go on
        logger.exception("what is shown after removals is not known")
        return
    for (message, _), event in zip(last.values(), shown, strict=True):
        if event is not None:
            hits = rules[event.bucket].match(event)
            _deliver(routed, message, event, (hit for hit in hits if hit.arn in facts.mirrors))


def _asked_of_a_put(event: Event, rules: RuleIndex) -> Fact:
    """What rules would ask of the object if the key were put, beyond its head."""
    asks: set[Fact] = set()
    rules.match(replace(event, name="s3:ObjectCreated:Put", size=None), asks)
    return reduce(or_, asks, Fact.HEAD)


def _matched(
    read: Iterable[tuple[str, list[Event]]],
    rules: Mapping[str, RuleIndex],
    facts: Facts | None,
    failed: dict[str, Exception],
) -> list[_Matched]:
    """Every event that was read, in its order.

    Messages over which the rules or the facts stumble are added to `failed`.
    """
    found: list[_Matched] = []
    asking: list[tuple[int, Event, Fact]] = []
    for message, events in read:
        try:
            for event in events:
                hits, asks = _asked(event, rules.get(event.bucket), facts)
                if asks:
                    asking.append((len(found), event, reduce(or_, asks)))
                found.append((message, event, hits))
        except Exception as error:  # noqa: BLE001 - one event must not stop its neighbours
            failed[message] = error
    if facts and asking:
        _ask(asking, facts, rules, found, failed)
    return found


def _asked(
    event: Event, index: RuleIndex | None, facts: Facts | None
) -> tuple[Collection[Hit], set[Fact]]:
    """Whom an event is for, as far as it says so itself, and what is to be asked of its object."""
    asks: set[Fact] = set()
    if index is None or (facts and facts.caused(event)):
        return (), asks
    hits = index.match(event, asks if facts else None)
    if facts and (wants := facts.wants):
        likely = index.match(event) if asks else hits
        asks.update(wants[hit.arn] for hit in likely if hit.arn in wants)
    return hits, asks


def _ask(
    asking: Sequence[tuple[int, Event, Fact]],
    facts: Facts,
    rules: Mapping[str, RuleIndex],
    found: list[_Matched],
    failed: dict[str, Exception],
) -> None:
    """Ask of the objects, and match those events again with what is known then."""
    try:
        told = facts.told([(event, fact) for _, event, fact in asking])
    except Exception as error:  # noqa: BLE001 - only the messages that asked have to wait
        failed |= dict.fromkeys((found[place][0] for place, _, _ in asking), error)
        return
    for (place, event, _), known in zip(asking, told, strict=True):
        message = found[place][0]
        if known is None:
            failed[message] = NotToldError(
                f"S3 could not be asked about an object of {event.bucket}"
            )
            continue
        try:
            found[place] = (message, known, rules[known.bucket].match(known))
        except Exception as error:  # noqa: BLE001 - one event must not stop its neighbours
            failed[message] = error
