"""A batch that is sent over one connection, confirmed as its quality of service allows."""

from collections.abc import Callable, Iterator, Sequence

from bucketcast.errors import DeliveryError, Rejected
from bucketcast.event import Event
from bucketcast.targets.base.answers import TooLargeError
from bucketcast.targets.base.batch_result import BatchResult
from bucketcast.targets.mqtt import protocol
from bucketcast.targets.mqtt.client import REFUSED, Client, Refused

CHUNK = 128
"""Events that are encoded and written at once."""


class Batch(BatchResult):
    """The events of a batch, and their results.

    `failures` has those that the broker refused, or that cannot be sent; `unconfirmed` has the
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
        """Send all events, and wait for the confirmations of this quality of service.

        Raises:
            OSError, Malformed, Refused: the connection cannot be used any more.
        """
        if qos:
            self._send_with_acknowledgements(client, deadline)
        else:
            self._send_with_ping(client, deadline)

    def _send_with_ping(self, client: Client, deadline: float) -> None:
        """Quality of service 0: write all, then wait until the broker has read it."""
        packets = self._packets(client)
        while parts := [data for _, (_, data) in zip(range(CHUNK), packets, strict=False)]:
            client.write(b"".join(parts), deadline)
        client.ping(deadline)
        self.unconfirmed.clear()

    def _send_with_acknowledgements(self, client: Client, deadline: float) -> None:
        """Quality of service 1 and 2: keep as many in flight as the broker allows."""
        packets = self._packets(client)
        in_flight: dict[int, int] = {}
        while True:
            parts = []
            while len(in_flight) < client.limits.in_flight:
                index, data = next(packets, (-1, b""))
                if not data:
                    break
                in_flight[index + 1] = index
                parts.append(data)
            if parts:
                client.write(b"".join(parts), deadline)
            if not in_flight:
                return
            self._read_acknowledgements(client, in_flight, deadline)

    def _read_acknowledgements(
        self, client: Client, in_flight: dict[int, int], deadline: float
    ) -> None:
        """Settle the events that the broker confirms or refuses next."""
        releases = []
        for kind, body in client.read(deadline):
            if kind not in (protocol.PUBACK, protocol.PUBREC, protocol.PUBCOMP):
                continue
            packet_id, response = protocol.decode_acknowledgement(body)
            if kind == protocol.PUBREC and response.code < REFUSED:
                releases.append(protocol.encode_pubrel(body[:2]))
            elif packet_id in in_flight:
                refused = response.code >= REFUSED
                client.refused |= refused
                failure = self._refusal(Refused(response)) if refused else None
                self.settle(in_flight.pop(packet_id), failure)
        if releases:
            client.write(b"".join(releases), deadline)

    def _packets(self, client: Client) -> Iterator[tuple[int, bytes]]:
        """Yield index and packet of each event that can be sent; fail the others."""
        limit = client.limits.packet
        for index, event in enumerate(self._events):
            try:
                data = self._packet(index + 1, event, self._message(event))
            except ValueError as error:
                self.settle(index, Rejected.anywhere(f"no message can hold it: {error}"))
                continue
            if len(data) <= limit:
                yield index, data
            else:
                size = f"the event takes {len(data)} bytes"
                reason = f"{size}; the broker takes {limit}: raise its largest packet"
                self.settle(index, TooLargeError(reason))
