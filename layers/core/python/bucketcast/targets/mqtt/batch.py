"""A batch on its way over one connection, confirmed as far as its quality of service can be."""

from collections.abc import Callable, Iterator, Sequence

from bucketcast.errors import DeliveryError, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.targets.base.batch_result import BatchResult
from bucketcast.targets.mqtt import protocol
from bucketcast.targets.mqtt.client import REFUSED, Client, Refused

CHUNK = 128
"""Events that are made ready and written at once."""


class Batch(BatchResult):
    """Events, and which of them are still to be confirmed.

    `failures` are those that the broker refused, or that cannot be sent; `unconfirmed` are the
    indexes of all others that the broker has not confirmed, whether they were sent or not.
    """

    def __init__(
        self,
        events: Sequence[Event],
        message: Callable[[Event], bytes],
        packet: Callable[[int, Event, bytes], bytes],
        refusal: Callable[[Refused], DeliveryError],
    ) -> None:
        super().__init__(len(events))
        self._events = events
        self._message = message
        self._packet = packet
        self._refusal = refusal

    def send(self, client: Client, qos: int, deadline: float) -> None:
        """Send all, confirmed as far as the quality of service allows."""
        if qos:
            self.confirmed(client, deadline)
        else:
            self.blindly(client, deadline)

    def blindly(self, client: Client, deadline: float) -> None:
        """Quality of service 0: write all, then wait until the broker has read it."""
        ready = self._ready(client)
        while parts := [data for _, (_, data) in zip(range(CHUNK), ready, strict=False)]:
            client.write(b"".join(parts), deadline)
        client.ping(deadline)
        self.unconfirmed.clear()

    def confirmed(self, client: Client, deadline: float) -> None:
        """Quality of service 1 and 2: keep so many in flight as the broker takes."""
        ready = self._ready(client)
        under_way: dict[int, int] = {}
        while True:
            parts = []
            while len(under_way) < client.limits.in_flight:
                index, data = next(ready, (-1, b""))
                if not data:
                    break
                under_way[index + 1] = index
                parts.append(data)
            if parts:
                client.write(b"".join(parts), deadline)
            if not under_way:
                return
            self._take(client, under_way, deadline)

    def _take(self, client: Client, under_way: dict[int, int], deadline: float) -> None:
        """Read what the broker says of events that are in flight."""
        releases = []
        for kind, body in client.read(deadline):
            if kind not in (protocol.PUBACK, protocol.PUBREC, protocol.PUBCOMP):
                continue
            number, answer = protocol.acknowledgement(body)
            if kind == protocol.PUBREC and answer.code < REFUSED:
                releases.append(protocol.pubrel(body[:2]))
            elif number in under_way:
                refused = answer.code >= REFUSED
                client.refused |= refused
                failure = self._refusal(Refused(answer)) if refused else None
                self.settle(under_way.pop(number), failure)
        if releases:
            client.write(b"".join(releases), deadline)

    def _ready(self, client: Client) -> Iterator[tuple[int, bytes]]:
        """Index and packet of each event that can be sent."""
        most = client.limits.packet
        for index, event in enumerate(self._events):
            try:
                data = self._packet(index + 1, event, self._message(event))
            except ValueError as error:
                self.settle(index, Rejected(f"no message can hold it: {error}"))
                continue
            if len(data) <= most:
                yield index, data
            elif len(data) > protocol.LARGEST:
                why = f"the event takes {len(data)} bytes; MQTT takes {protocol.LARGEST}"
                self.settle(index, Rejected(why))
            else:
                why = f"the event takes {len(data)} bytes; the broker takes {most}"
                self.settle(index, Retryable(f"{why}: raise its largest packet"))
