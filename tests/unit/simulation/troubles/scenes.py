"""A target in trouble, or with events that give trouble, and what that costs."""

from collections import Counter
from collections.abc import Callable, Sequence

from bucketcast.delivery.breaker import Breaker
from bucketcast.delivery.connection import Connection
from bucketcast.delivery.envelope import Delivery, unpack
from bucketcast.delivery.messages import Received
from bucketcast.delivery.sender import Sender
from bucketcast.targets import base
from tests.unit.simulation.delivering import Delivering
from tests.unit.simulation.lambdas import CrashError, Simulation
from tests.unit.simulation.troubles.cell import dollars
from tests.unit.simulation.troubles.receivers import Behaviour, Server

Kind = Callable[[Server], base.Target]
WORKERS = 4
GRAIN = 0.1


class _Fragile(Sender):
    """What one function does with events, if some end it when their message is opened."""

    def __init__(self, one: "Troubled") -> None:
        super().__init__(Connection(one.connector()), Breaker(one.book), one.batch_size)
        self._kills = one.kills
        self._tried = one.target.tried

    def open(self, received: Received) -> Sequence[Delivery]:
        opened = super().open(received)
        for delivery in opened:
            if self._kills(delivery.event.key):
                self._tried[f"{delivery.event.key} {delivery.rule}"] += 1
                raise CrashError
        return opened


class Troubled(Delivering):
    """A target of a kind, which behaves; its function dies when it opens what it `kills`."""

    def __init__(
        self,
        kind: Kind,
        behaviour: Behaviour,
        *,
        kills: Callable[[str], bool] = lambda _: False,
        beside: Simulation | None = None,
        name: str = "primary",
        fifo: bool = False,
    ) -> None:
        super().__init__((), beside=beside, name=name, workers=WORKERS, grain=GRAIN, fifo=fifo)
        self._kind = kind
        self._behaviour = behaviour
        self.kills = kills

    def connector(self) -> Callable[[bool], base.Target]:
        return lambda _: self._kind(Server(self.target, self._behaviour))

    def work(self) -> Sender:
        return _Fragile(self)

    def dollars(self) -> float:
        """The price of all that was done for this target, since the beginning."""
        requests = sum(
            number
            for (_, queue), number in self.simulation.sqs.requests.items()
            if queue in (self.queue.name, self.dead.name)
        )
        return dollars([self.function], requests)

    def dead_by_reason(self) -> Counter[str]:
        return Counter(
            letter.attributes["reason"]["StringValue"]
            for letter in self.dead.arrived
            for _ in unpack(letter.body)
        )

    def faults(self, repeats: int = 1) -> tuple[str, ...]:
        """What must not have happened, whatever the trouble: loss, and more than some repeats."""
        letters, taken = self.letters(), self.target.taken
        lost = [name for name in self.sent if not taken[name] and not letters[name]]
        again = [name for name in self.sent if taken[name] + letters[name] > 1 + repeats]
        found = {
            "SQS dropped messages": len(self.queue.dropped),
            "SQS moved messages": len(self.queue.moved),
            "SQS refused calls": len(self.simulation.sqs.refused),
            "events lost": 0 if self.queue.messages else len(lost),
            "events repeated more often": len(again),
        }
        return tuple(f"{number} {what}" for what, number in found.items() if number)
