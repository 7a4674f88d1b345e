"""Core NATS, and what the other two ways over a connection have in common with it."""

from bucketcast.targets.nats.batch import Batch
from bucketcast.targets.nats.connection import Connection

ID = "Nats-Msg-Id"
HEADER = len(f"NATS/1.0\r\n{ID}: {'0' * 32}\r\n\r\n")
"""Bytes that the header takes."""
PART = 100
"""So many messages are written out at once: the server works on them while more are made."""


class Core:
    """Publishes to whoever listens; a PONG confirms that the server had all of it.

    Nothing here is bounded in time. What is raised is what nats-py raises, or a DeliveryError.
    """

    def __init__(self, connection: Connection, subject: str) -> None:
        self.connection = connection
        self.subject = subject

    async def open(self) -> None:
        """Make ready what a new connection needs."""

    async def alive(self) -> None:
        """See that the server still knows the connection."""
        await self.connection.confirmed()

    async def send(self, batch: Batch) -> None:
        """Publish, and settle in the batch what the server took or refused."""
        publish, subject = self.connection.publish, self.subject
        header = self.connection.takes_headers
        sent = []
        for place, id_, body in batch.messages(HEADER * header, self.connection.max_payload):
            await publish(subject, body, headers={ID: id_} if header else None)
            sent.append(place)
            if len(sent) % PART == 0:
                await self.connection.written()
        await self.connection.confirmed()
        for place in sent:
            batch.settle(place)

    async def probe(self) -> None:
        """See whether `send` would succeed, as far as that can be seen without sending."""
        await self.alive()

    async def close(self) -> None:
        """Take leave of the server."""
