"""Routing: from the events of the ingress queue to deliveries per destination, by the rules."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Final, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from bucketcast.delivery.envelope import Delivery
from bucketcast.delivery.messages import Item
from bucketcast.destination import Destination
from bucketcast.errors import DeliveryError, Retryable, Unavailable
from bucketcast.event import Event
from bucketcast.limits import INGEST_COPIES, INGEST_MATCH_SECONDS
from bucketcast.rules import Hit, RuleIndex
from bucketcast.rules.conditions import NOTHING, Fact
from bucketcast.telemetry import logger

ADDRESSED: Final = "bucketcast-test"
"""The rule's name in events that are sent to one target, past the rules."""
_LOOKS_AT_CLOCK: Final = 16
"""Of so many events one asks what time it is."""


RuleLookup = Callable[[frozenset[str]], Mapping[str, RuleIndex]]
"""Returns the active rules of these buckets; a bucket without rules may be missing."""


class _Match(msgspec.Struct, frozen=True, gc=False):
    """An event, None if it is not known now, and the matches of its rules."""

    item: Item
    event: Event | None
    hits: Collection[Hit]


@dataclass(slots=True)
class Routes:
    """The deliveries by destination.

    `failed` could not be routed now. `matches` are all other events, each with the rules that it
    matched. `rest` was not looked at.
    """

    batches: dict[Destination, list[Item]] = field(default_factory=lambda: defaultdict(list))
    failed: list[tuple[Item, DeliveryError]] = field(default_factory=list)
    matches: list[tuple[Event, Collection[Hit]]] = field(default_factory=list)
    rest: Sequence[Item] = ()


class EnrichmentError(Unavailable):
    """S3 could not be asked about an object whose facts a rule or a target needs."""

    is_try = True


class Wants(NamedTuple):
    """What a destination wants from S3: the facts in its records, and uncovered versions."""

    facts: Fact = NOTHING
    is_mirror: bool = False


class Facts(Protocol):
    """The source of facts about objects that events do not carry."""

    def wants(self, to: Destination) -> Wants:
        """Return what a destination wants, deployed or dynamic."""

    def is_self_caused(self, event: Event) -> bool:
        """Return True if a request of ours caused the event, which must be ignored."""

    def enrich(
        self, requested: Sequence[tuple[Event, Fact]], seconds: float
    ) -> Sequence[Event | None]:
        """Return the events in the same order with the requested facts, within so many seconds.

        Without them, if the object is gone; None if they cannot be read now.
        """

    def may_reveal_version(self, event: Event) -> bool:
        """Return True if the key may show another version now, for which no event comes."""

    def read_current(
        self, requested: Sequence[tuple[Event, Fact]], seconds: float
    ) -> Sequence[Event | None]:
        """Return a put of the version that each key shows now; None if it is unknown."""


def route(
    items: Sequence[Item],
    lookup: RuleLookup,
    facts: Facts | None,
    seconds_left: Callable[[], float],
) -> Routes:
    """Match each event with the rules.

    S3 is asked about an object only if a rule that would match depends on it, or if the target
    needs facts, and for no more than `seconds_left`; without `facts` they stay unknown. After
    `INGEST_COPIES` deliveries, or `INGEST_MATCH_SECONDS`, it stops.
    """
    routes = Routes()
    try:
        rules = lookup(frozenset([item.delivery.event.bucket for item in items]))
    except Exception as error:  # noqa: BLE001 - whatever is wrong with the table, all of them wait
        routes.failed += [(item, Unavailable(f"{error or type(error).__name__}")) for item in items]
        return routes
    matches = _match_all(items, rules, facts, routes, seconds_left)
    for match in matches:
        if match.event is not None:
            routes.matches.append((match.event, match.hits))
            original = match.item.delivery.event
            _deliver(routes, match.item, match.event, match.hits, facts, original)
    if facts and any(facts.wants(to).is_mirror for to in routes.batches):
        _add_revealed(routes, matches, rules, facts, seconds_left)
    return routes


def _deliver(
    routes: Routes,
    item: Item,
    event: Event,
    hits: Iterable[Hit],
    facts: Facts | None,
    original: Event,
) -> None:
    """Add the event for each destination, only with those facts that it wants.

    `original` is the event without facts that were read for some destinations only.
    """
    read = facts if event is not original else None
    for to, rule, named in hits:
        wanted = event if read is None else _only(read.wants(to).facts, event, original)
        delivery = Delivery(rule, wanted, named, item.delivery.created)
        routes.batches[to].append(Item(item.received, delivery))


def _only(wanted: Fact, event: Event, original: Event) -> Event:
    """Return the event without facts that were read for others: no record depends on their rules.

    `original` is the event without any.
    """
    if wanted == Fact.HEAD | Fact.TAGS:
        return event
    if wanted == Fact.HEAD:
        return replace(event, tags=original.tags)
    if wanted == Fact.TAGS:
        return replace(original, tags=event.tags)
    return original


def _add_revealed(
    routes: Routes,
    matches: Iterable[_Match],
    rules: Mapping[str, RuleIndex],
    facts: Facts,
    seconds_left: Callable[[], float],
) -> None:
    """Add for mirrors the versions that keys show after a version or a marker was removed.

    Each key is looked up once, for its last removal, and only for those targets that its rules send
    both that removal and the put.
    """
    last: dict[tuple[str, str], tuple[Item, Event]] = {}
    for match in matches:
        event = match.event
        if event is None or not facts.may_reveal_version(event):
            continue
        if any(facts.wants(hit.to).is_mirror for hit in match.hits):
            before = last.get((event.bucket, event.key))
            if before is None or before[1].order < event.order:
                last[event.bucket, event.key] = (match.item, event)
    requests = [
        (event, _facts_for_put(event, rules[event.bucket], facts)) for _, event in last.values()
    ]
    try:
        puts = facts.read_current(requests, seconds_left())
    except Exception:  # noqa: BLE001 - as where it is not known: the removals themselves go on
        logger.exception("cannot read what keys show after removals")
        return
    for (item, _), event in zip(last.values(), puts, strict=True):
        if event is not None:
            hits = rules[event.bucket].match(event)
            mirrors = (hit for hit in hits if facts.wants(hit.to).is_mirror)
            _deliver(routes, item, event, mirrors, facts, replace(event, tags=None))


def _facts_for_put(event: Event, rules: RuleIndex, facts: Facts) -> Fact:
    """Return the facts that rules and mirrors need if the key were put, besides its head."""
    put = replace(event, name="s3:ObjectCreated:Put", size=None)
    needed: set[Fact] = set()
    rules.match(put, needed)
    wants = (facts.wants(hit.to) for hit in rules.match(put))
    needed.update(wanted.facts for wanted in wants if wanted.is_mirror)
    return reduce(or_, needed, Fact.HEAD)


def _match_all(
    items: Sequence[Item],
    rules: Mapping[str, RuleIndex],
    facts: Facts | None,
    routes: Routes,
    seconds_left: Callable[[], float],
) -> list[_Match]:
    """Return every event, in order; None for those whose rules or facts fail now."""
    matches: list[_Match] = []
    requests: list[tuple[int, Event, Fact]] = []
    copies = 0
    until = time.monotonic() + INGEST_MATCH_SECONDS
    for number, item in enumerate(items):
        if copies >= INGEST_COPIES or (not number % _LOOKS_AT_CLOCK and time.monotonic() > until):
            routes.rest = items[number:]
            break
        event = item.delivery.event
        try:
            hits, needed, most = _match(event, rules.get(event.bucket), facts)
        except Exception as error:  # noqa: BLE001 - one event must not stop its neighbours
            routes.failed.append((item, Retryable(f"{error or type(error).__name__}")))
            continue
        copies += most
        if needed:
            requests.append((len(matches), event, reduce(or_, needed)))
        matches.append(_Match(item, event, hits))
    if facts and requests:
        _enrich(requests, facts, rules, matches, routes, seconds_left)
    return matches


def _match(
    event: Event, index: RuleIndex | None, facts: Facts | None
) -> tuple[Collection[Hit], set[Fact], int]:
    """Return the matches that the event alone decides, facts to read, and the most matches then."""
    needed: set[Fact] = set()
    if index is None or (facts and facts.is_self_caused(event)):
        return (), needed, 0
    hits = likely = index.match(event, needed if facts else None)
    if facts:
        likely = index.match(event) if needed else hits
        needed.update(wanted for hit in likely if (wanted := facts.wants(hit.to).facts))
    return hits, needed, len(likely)


def _enrich(
    requests: Sequence[tuple[int, Event, Fact]],
    facts: Facts,
    rules: Mapping[str, RuleIndex],
    matches: list[_Match],
    routes: Routes,
    seconds_left: Callable[[], float],
) -> None:
    """Fetch facts of objects, and match their events again."""
    try:
        enriched = facts.enrich([(event, fact) for _, event, fact in requests], seconds_left())
    except Exception:  # noqa: BLE001 - only these events have to wait
        logger.exception("objects cannot be looked at")
        enriched = [None] * len(requests)
    for (index, event, _), enriched_event in zip(requests, enriched, strict=True):
        item = matches[index].item
        if enriched_event is None:
            error = EnrichmentError(f"S3 could not be asked about an object of {event.bucket}")
            routes.failed.append((item, error))
            matches[index] = _Match(item, None, ())
        else:
            hits = rules[enriched_event.bucket].match(enriched_event)
            matches[index] = _Match(item, enriched_event, hits)
