"""The work of the ingress queue: its events are routed and fanned out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bucketcast import sources
from bucketcast.delivery.envelope import Delivery, is_envelope
from bucketcast.delivery.messages import Batch, Failed, Item, Received, Result, deliveries
from bucketcast.delivery.policy import Policy
from bucketcast.destination import Destination
from bucketcast.errors import BadEvent, OutOfTime
from bucketcast.ingest.fanout import Fanout
from bucketcast.ingest.routing import ADDRESSED, Facts, Routes, RuleLookup, route
from bucketcast.limits import INGEST_SEND_SECONDS, SETTLE_SECONDS
from bucketcast.rules import Hit


@dataclass(slots=True)
class Counts:
    """Events that were read, copies of them that went to targets, and unreadable messages."""

    events: int = 0
    matched: int = 0
    broken: int = 0


class Intake:
    """Routes events; `on_routed` is called with those of each chunk and where they go."""

    def __init__(
        self,
        lookup: RuleLookup,
        facts: Facts | None,
        fanout: Fanout,
        on_routed: Callable[[Routes, int], None] = lambda *_: None,
    ) -> None:
        self._lookup = lookup
        self._facts = facts
        self._fanout = fanout
        self._on_routed = on_routed
        self.counts = Counts()

    def close(self) -> None: ...

    def take_counts(self) -> Counts:
        """Return the counts since the last call."""
        counts, self.counts = self.counts, Counts()
        return counts

    def begin_batch(self, policy: Policy) -> None:
        """Return no obstacle: each destination fails by itself."""

    def find_outage(self) -> None:
        """Return no outage, for the same reason."""

    def open(self, received: Received) -> Sequence[Delivery]:
        """Return the events of a message; those that were routed before have their rule."""
        message = received.message
        body, created = message.body, message.created
        if is_envelope(body):
            return deliveries(message)
        try:
            rule = ADDRESSED if message.history.to else ""
            return [Delivery(rule, event, created=created) for event in sources.events(body)]
        except BadEvent:
            self.counts.broken += 1
            raise

    def __call__(self, items: Sequence[Item], batch: Batch) -> Result:
        """Route events, but for those that are addressed to one destination, and send them all."""
        addressed = [item for item in items if item.received.message.history.to]
        rest: Sequence[Item] = [item for item in items if not item.received.message.history.to]

        def seconds_left() -> float:
            return max(0.0, batch.remaining() - INGEST_SEND_SECONDS)

        failed: list[Failed] = []
        stop: OutOfTime | None = None
        while addressed or rest:
            if stop:
                failed += [item.fail(stop) for item in rest]
                break
            routes = route(rest, self._lookup, self._facts, seconds_left) if rest else Routes()
            for item in addressed:
                destination = Destination.of(item.received.message.history.to)
                routes.batches[destination].append(item)
                if item.delivery.rule == ADDRESSED:
                    routes.matches.append((item.delivery.event, [Hit(destination, ADDRESSED)]))
            addressed, rest = [], routes.rest
            stop = self._send(routes, batch, failed)
            if rest and batch.remaining() < SETTLE_SECONDS:
                stop = OutOfTime("no time to match it with the rules")
        return Result(failed, stop)

    def _send(self, routes: Routes, batch: Batch, failed: list[Failed]) -> OutOfTime | None:
        """Send the events and add those that cannot be sent; return why no more are to be tried."""
        self.counts.events += len(routes.matches)
        self.counts.matched += sum(map(len, routes.batches.values()))
        failed += [item.fail(error) for item, error in routes.failed]
        stop: OutOfTime | None = None
        for failure in self._fanout.send(routes.batches, batch.remaining):
            stop = failure.error if isinstance(failure.error, OutOfTime) else stop
            failed.append(failure)
        self._on_routed(routes, batch.now)
        return stop
