"""A batch on its way over one connection, confirmed as far as its quality of service can be."""

from collections.abc import Callable, Iterator, Sequence

from bucketcast.errors import DeliveryError, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.targets.mqtt import packets
from bucketcast.targets.mqtt.connection import REFUSED, Connection, Refused
from bucketcast.targets.mqtt.packets import Answer

CHUNK = 128
"""Events that are made ready and written at once."""


class Batch:
    """Events, and which of them are still to be confirmed.

    `failures` are those that the broker refused, or that cannot be sent; `unconfirmed` are the
    places of all others that the broker has not confirmed, whether they were sent or not.
    """

    def __init__(
        self,
        events: Sequence[Event],
        message: Callable[[Event], bytes],
        packet: Callable[[int, Event, bytes], bytes],
        refusal: Callable[[Refused], DeliveryError],
    ) -> None:
        self.failures: dict[int, DeliveryError] = {}
        self.unconfirmed = set(range(len(events)))
        self._events = events
        self._message = message
        self._packet = packet
        self._refusal = refusal

    def blindly(self, connection: Connection, deadline: float) -> None:
        """Quality of service 0: write all, then wait until the broker has read it."""
        ready = self._ready(connection)
        while parts := [data for _, (_, data) in zip(range(CHUNK), ready, strict=False)]:
            connection.write(b"".join(parts), deadline)
        connection.ping(deadline)
        self.unconfirmed.clear()

    def confirmed(self, connection: Connection, deadline: float) -> None:
        """Quality of service 1 and 2: keep so many under way as the broker takes."""
        ready = self._ready(connection)
        under_way: dict[int, int] = {}
        while True:
            parts = []
            while len(under_way) < connection.limits.in_flight:
                place, data = next(ready, (-1, b""))
                if not data:
                    break
                under_way[place + 1] = place
                parts.append(data)
            if parts:
                connection.write(b"".join(parts), deadline)
            if not under_way:
                return
            self._take(connection, under_way, deadline)

    def _take(self, connection: Connection, under_way: dict[int, int], deadline: float) -> None:
        """Read what the broker says of events that are under way."""
        releases = []
        for kind, body in connection.read(deadline):
            if kind not in (packets.PUBACK, packets.PUBREC, packets.PUBCOMP):
                continue
            number, answer = packets.acknowledgement(body)
            if kind == packets.PUBREC and answer.code < REFUSED:
                releases.append(packets.pubrel(body[:2]))
            elif number in under_way:
                self._done(under_way.pop(number), answer)
        if releases:
            connection.write(b"".join(releases), deadline)

    def _done(self, place: int, answer: Answer) -> None:
        self.unconfirmed.discard(place)
        if answer.code >= REFUSED:
            self.failures[place] = self._refusal(Refused(answer))

    def _ready(self, connection: Connection) -> Iterator[tuple[int, bytes]]:
        """Place and packet of each event that can be sent."""
        most = connection.limits.packet
        for place, event in enumerate(self._events):
            try:
                data = self._packet(place + 1, event, self._message(event))
            except ValueError as error:
                self._never(place, Rejected(f"no message can hold it: {error}"))
                continue
            if len(data) <= most:
                yield place, data
            elif len(data) > packets.LARGEST:
                why = f"the event takes {len(data)} bytes; MQTT takes {packets.LARGEST}"
                self._never(place, Rejected(why))
            else:
                why = f"the event takes {len(data)} bytes; the broker takes {most}"
                self._never(place, Retryable(f"{why}: raise its largest packet"))

    def _never(self, place: int, error: DeliveryError) -> None:
        self.unconfirmed.discard(place)
        self.failures[place] = error
