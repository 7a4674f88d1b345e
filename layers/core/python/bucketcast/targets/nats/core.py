"""Core NATS, and what the other two publishers have in common with it."""

from bucketcast.errors import Retryable
from bucketcast.targets.nats.batch import Batch
from bucketcast.targets.nats.connection import Connection

PART = 100
"""So many messages are written out at once: the server works on them while more are made."""


class Core:
    """Publishes to whoever listens; a PONG confirms that the server had all of it.

    Nothing here is bounded in time. What is raised is what nats-py raises, or a DeliveryError.
    """

    def __init__(self, connection: Connection, subject: str, *, needs_headers: bool) -> None:
        self.connection = connection
        self.subject = subject
        self.needs_headers = needs_headers

    async def open(self) -> None:
        """Make ready what a new connection needs."""
        if self.needs_headers and not self.connection.takes_headers:
            raise Retryable(
                "this server takes no headers, which JetStream and shape = cloudevents-binary need"
            )

    async def alive(self) -> None:
        """See that the server still knows the connection."""
        await self.connection.confirmed()

    async def send(self, batch: Batch) -> None:
        """Publish, and settle in the batch what the server took or refused."""
        put, subject = self.connection.put, self.subject
        limit, takes = self.connection.max_payload, self.connection.takes_headers
        sent = []
        for message in batch.messages(limit, headers=takes):
            await put(subject, message.head, message.body)
            sent.append(message.position)
            if len(sent) % PART == 0:
                await self.connection.written()
        await self.connection.confirmed()
        batch.confirm(sent)

    async def probe(self) -> None:
        """See whether `send` would succeed, as far as that can be seen without sending."""
        await self.alive()

    async def close(self) -> None:
        """Take leave of the server."""
