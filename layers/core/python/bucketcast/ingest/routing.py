"""Routing: from messages of the ingress queue to deliveries per target, by the rules."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import or_
from typing import Final, Protocol

from msgspec.structs import replace

from bucketcast import sources
from bucketcast.delivery.envelope import Delivery
from bucketcast.destination import Destination, ListenerArn
from bucketcast.errors import BadEvent, BucketcastError
from bucketcast.event import Event
from bucketcast.rules import Hit, RuleIndex
from bucketcast.rules.conditions import Fact
from bucketcast.telemetry import logger

ADDRESSED: Final = "bucketcast-test"
"""The rule's name in events that are sent to one target, past the rules."""
RuleLookup = Callable[[frozenset[str]], Mapping[str, RuleIndex]]
"""Returns the active rules of these buckets; a bucket without rules may be missing."""
_Matched = tuple[str, Event | None, Collection[Hit]]
"""The id of a message, its event, None if it is not known now, and its matches."""


@dataclass(slots=True)
class TargetBatch:
    """The deliveries for one target; `origins[i]` is the message that `deliveries[i]` came in."""

    deliveries: list[Delivery] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)

    def without(self, index: int) -> "TargetBatch":
        """Return the batch without one delivery."""
        left = [kept for kept in range(len(self.deliveries)) if kept != index]
        return TargetBatch([self.deliveries[i] for i in left], [self.origins[i] for i in left])

    def part(self, half: int) -> "TargetBatch":
        """Return the first or the second half of the batch."""
        middle = len(self.deliveries) // 2
        which = slice(middle, None) if half else slice(middle)
        return TargetBatch(self.deliveries[which], self.origins[which])


@dataclass(slots=True)
class Routed:
    """The batches by ARN, and the broken messages by id.

    The messages in `failed` could not be processed now and must be read again as a whole. `matches`
    are all other events, each with the rules that it matched.
    """

    batches: dict[str, TargetBatch] = field(default_factory=dict)
    broken: dict[str, BadEvent] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)
    matches: list[tuple[Event, Collection[Hit]]] = field(default_factory=list)

    @property
    def events(self) -> int:
        return len(self.matches)


class EnrichmentError(BucketcastError):
    """S3 could not be asked about an object that a rule or a target needs to know more about."""


class Facts(Protocol):
    """Where the facts about objects come from that events do not carry."""

    @property
    def wants(self) -> Mapping[str, Fact]:
        """The facts that targets, by ARN, want for every object."""

    def self_caused(self, event: Event) -> bool:
        """Return whether the event was only caused by a request of ours, and must be ignored."""

    def enriched(
        self, requested: Sequence[tuple[Event, Fact]], seconds: float
    ) -> Sequence[Event | None]:
        """Return the events in the same order with the requested facts, in so many seconds.

        Without, if the object is gone; None if its facts cannot be read now.
        """

    @property
    def mirrors(self) -> frozenset[str]:
        """The ARNs of the targets that mirror a bucket."""

    def uncovers(self, event: Event) -> bool:
        """Return whether the key may show another version after it, for which no event comes."""

    def shown(
        self, requested: Sequence[tuple[Event, Fact]], seconds: float
    ) -> Sequence[Event | None]:
        """Return a put of the version that each key shows now; None if that is not known."""


class _Only(RuleIndex):
    """Sends each event to one target, whatever the rules are."""

    def __init__(self, arn: str) -> None:
        super().__init__(())
        self._hits = (Hit(Destination.of(arn), ADDRESSED),)

    def match(self, event: Event, asks: set[Fact] | None = None) -> Collection[Hit]:  # noqa: ARG002
        return self._hits


def only(arn: str) -> RuleLookup:
    """Return a lookup by which all events go to this target, and to no other."""
    return lambda buckets: dict.fromkeys(buckets, _Only(arn))


def route(
    messages: Iterable[tuple[str, str]],
    lookup: RuleLookup,
    facts: Facts | None = None,
    left: Callable[[], float] = lambda: 0.0,
) -> Routed:
    """Read (id, body) messages and match each event with the rules.

    A message that cannot be read goes to `broken`, one that fails for a reason of our own to
    `failed`; the others are routed. S3 is asked about an object only if a rule that would match
    depends on it, or if the target wants facts; without `facts` they stay unknown. `left` returns
    the seconds that may be waited for S3.
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
        rules = lookup(frozenset(event.bucket for _, events in read for event in events))
    except Exception as error:  # noqa: BLE001 - whatever the table's trouble is, all of them wait
        routed.failed |= dict.fromkeys((message for message, _ in read), error)
        return routed
    matched = _matched(read, rules, facts, left, routed.failed)
    for message, event, hits in matched:
        if event is None or message in routed.failed:
            continue
        routed.matches.append((event, _by_rules(hits)))
        _deliver(routed, message, event, hits)
    if facts and not facts.mirrors.isdisjoint(routed.batches):
        settled = [each for each in matched if each[0] not in routed.failed]
        _uncover(routed, settled, rules, facts, left)
    return routed


def _by_rules(hits: Collection[Hit]) -> Collection[Hit]:
    """Return the matches without listeners, which traces leave out."""
    return [hit for hit in hits if not isinstance(hit.to, ListenerArn)]


def _deliver(routed: Routed, message: str, event: Event, hits: Iterable[Hit]) -> None:
    for to, rule, named in hits:
        arn = to.arn
        batch = routed.batches.get(arn)
        if batch is None:
            batch = routed.batches[arn] = TargetBatch()
        batch.deliveries.append(Delivery(rule, event, named))
        batch.origins.append(message)


def _uncover(
    routed: Routed,
    settled: Iterable[_Matched],
    rules: Mapping[str, RuleIndex],
    facts: Facts,
    left: Callable[[], float],
) -> None:
    """Add to mirrors what keys show after a version or a marker was removed.

    Each key is looked up once, for its last removal, and only for those targets that its rules send
    both that removal and the put.
    """
    last: dict[tuple[str, str], tuple[str, Event]] = {}
    for message, event, hits in settled:
        if event and facts.uncovers(event) and any(hit.to.arn in facts.mirrors for hit in hits):
            before = last.get((event.bucket, event.key))
            if before is None or before[1].order < event.order:
                last[event.bucket, event.key] = (message, event)
    requests = [(event, _facts_for_put(event, rules[event.bucket])) for _, event in last.values()]
    try:
        shown = facts.shown(requests, left())
    except Exception:  # noqa: BLE001 - as where it is not known: the removals themselves go on
        logger.exception("cannot read what keys show after removals")
        return
    for (message, _), event in zip(last.values(), shown, strict=True):
        if event is not None:
            hits = rules[event.bucket].match(event)
            _deliver(routed, message, event, (hit for hit in hits if hit.to.arn in facts.mirrors))


def _facts_for_put(event: Event, rules: RuleIndex) -> Fact:
    """Return the facts that rules need if the key were put, besides its head."""
    needed: set[Fact] = set()
    rules.match(replace(event, name="s3:ObjectCreated:Put", size=None), needed)
    return reduce(or_, needed, Fact.HEAD)


def _matched(
    read: Iterable[tuple[str, list[Event]]],
    rules: Mapping[str, RuleIndex],
    facts: Facts | None,
    left: Callable[[], float],
    failed: dict[str, Exception],
) -> list[_Matched]:
    """Return every event that was read, in order.

    Messages whose rules or facts fail are added to `failed`.
    """
    found: list[_Matched] = []
    requests: list[tuple[int, Event, Fact]] = []
    for message, events in read:
        try:
            for event in events:
                hits, needed = _match(event, rules.get(event.bucket), facts)
                if needed:
                    requests.append((len(found), event, reduce(or_, needed)))
                found.append((message, event, hits))
        except Exception as error:  # noqa: BLE001 - one event must not stop its neighbours
            failed[message] = error
    if facts and requests:
        _enrich(requests, partial(facts.enriched, seconds=left()), rules, found, failed)
    return found


def _match(
    event: Event, index: RuleIndex | None, facts: Facts | None
) -> tuple[Collection[Hit], set[Fact]]:
    """Return the matches that the event alone decides, and the facts that others need."""
    needed: set[Fact] = set()
    if index is None or (facts and facts.self_caused(event)):
        return (), needed
    hits = index.match(event, needed if facts else None)
    if facts and (wants := facts.wants):
        likely = index.match(event) if needed else hits
        needed.update(wants[arn] for hit in likely if (arn := hit.to.arn) in wants)
    return hits, needed


def _enrich(
    requests: Sequence[tuple[int, Event, Fact]],
    look: Callable[[Sequence[tuple[Event, Fact]]], Sequence[Event | None]],
    rules: Mapping[str, RuleIndex],
    found: list[_Matched],
    failed: dict[str, Exception],
) -> None:
    """Fetch facts of objects, and match their events again."""
    try:
        enriched = look([(event, fact) for _, event, fact in requests])
    except Exception as error:  # noqa: BLE001 - only their messages have to wait
        failed |= dict.fromkeys((found[index][0] for index, _, _ in requests), error)
        return
    for (index, event, _), known in zip(requests, enriched, strict=True):
        message = found[index][0]
        if known is None:
            failed[message] = EnrichmentError(
                f"S3 could not be asked about an object of {event.bucket}"
            )
            continue
        try:
            found[index] = (message, known, rules[known.bucket].match(known))
        except Exception as error:  # noqa: BLE001 - one event must not stop its neighbours
            failed[message] = error
