"""The work of the ingress queue: its events are routed and fanned out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bucketcast import sources
from bucketcast.delivery.envelope import Delivery, is_envelope
from bucketcast.delivery.messages import Batch, Failed, Item, Received, Result, deliveries
from bucketcast.delivery.policy import Policy
from bucketcast.destination import Destination
from bucketcast.errors import BadEvent, BreakerOpen, OutOfTime
from bucketcast.ingest.fanout import Fanout
from bucketcast.ingest.routing import ADDRESSED, Facts, Routes, RuleLookup, route
from bucketcast.limits import TO_SEND
from bucketcast.rules import Hit


@dataclass(slots=True)
class Counts:
    """Events that were read, copies of them that went to targets, and messages nobody can read."""

    events: int = 0
    matched: int = 0
    broken: int = 0


class Intake:
    """Routes events; `on_routed` is called with those of each chunk and where they go."""

    is_away = False

    def __init__(
        self,
        lookup: RuleLookup,
        facts: Facts | None,
        fanout: Fanout,
        on_routed: Callable[[Routes], None] = lambda _: None,
    ) -> None:
        self._lookup = lookup
        self._facts = facts
        self._fanout = fanout
        self._on_routed = on_routed
        self.counts = Counts()

    def close(self) -> None: ...

    def take_counts(self) -> Counts:
        """Return the counts since the last call."""
        taken, self.counts = self.counts, Counts()
        return taken

    def hindrance(self, policy: Policy) -> None:
        """Return that nothing stops routing: each destination fails by itself."""

    def trouble(self) -> None:
        """Return that nothing does."""

    def open(self, one: Received) -> Sequence[Delivery]:
        """Return the events of a message; those that were routed before say by which rule."""
        body, created = one.message.body, one.message.created
        if is_envelope(body):
            return deliveries(one.message)
        try:
            rule = ADDRESSED if one.message.history.to else ""
            return [Delivery(rule, event, created=created) for event in sources.events(body)]
        except BadEvent:
            self.counts.broken += 1
            raise

    def __call__(self, items: Sequence[Item], batch: Batch) -> Result:
        """Route events, but for those that are addressed to one destination, and send them all."""
        plain = [one for one in items if not one.of.message.history.to]

        def left() -> float:
            return max(0.0, batch.remaining() - TO_SEND)

        routes = route(plain, self._lookup, self._facts, left) if plain else Routes()
        failed = [item.failed(error) for item, error in routes.failed]
        for item in items:
            if to := item.of.message.history.to:
                destination = Destination.of(to)
                routes.add(destination, item, item.delivery)
                if item.delivery.rule == ADDRESSED:
                    routes.matches.append((item.delivery.event, [Hit(destination, ADDRESSED)]))
        self.counts.events += len(routes.matches)
        self.counts.matched += sum(map(len, routes.batches.values()))
        unsent = self._fanout.send(routes.batches, batch.remaining)
        stop: OutOfTime | None = None
        for destination, routed, error, pause in unsent:
            stop = error if isinstance(error, OutOfTime) else stop
            tried = not isinstance(error, OutOfTime | BreakerOpen)
            failed.append(
                Failed(routed.item.of, routed.delivery, error, tried, pause, destination.arn)
            )
        self._on_routed(routes)
        return Result(failed, stop)
