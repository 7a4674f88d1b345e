"""Ingest: from messages of the ingress queue to deliveries for each target."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from bucketcast import sources
from bucketcast.envelope import Delivery
from bucketcast.errors import BadEvent
from bucketcast.event import Event
from bucketcast.names import spellings
from bucketcast.rules import RuleIndex

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
    """Where the events of a batch go, by ARN, and which messages are broken, by id."""

    outboxes: dict[str, Outbox] = field(default_factory=dict)
    broken: dict[str, BadEvent] = field(default_factory=dict)
    events: int = 0


def route(messages: Iterable[tuple[str, str]], rulebook: Rulebook) -> Routed:
    """Read (id, body) messages and ask the rules about each event.

    A broken message ends in `broken` as a whole, and its neighbours go on.
    """
    routed = Routed()
    read: list[tuple[str, list[Event]]] = []
    for message, body in messages:
        try:
            read.append((message, sources.events(body)))
        except BadEvent as error:
            routed.broken[message] = error
    rules = rulebook(frozenset(event.bucket for _, events in read for event in events))
    for message, events in read:
        routed.events += len(events)
        for event in events:
            index = rules.get(event.bucket)
            if index is None:
                continue
            found: dict[str, str] = {}
            for name in spellings(event):
                found = index.match(name, event.key) | found
            for arn, rule in found.items():
                outbox = routed.outboxes.get(arn)
                if outbox is None:
                    outbox = routed.outboxes[arn] = Outbox()
                outbox.deliveries.append(Delivery(rule, event))
                outbox.origins.append(message)
    return routed
