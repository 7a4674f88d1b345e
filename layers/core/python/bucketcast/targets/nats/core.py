"""Core NATS, the base of the other two publishers."""

from bucketcast.errors import Retryable
from bucketcast.targets.nats.batch import Batch
from bucketcast.targets.nats.connection import Connection, encode_publish

PART = 100
"""Messages that are written at once: the server works on them while the next are encoded."""


class Core:
    """Publishes to the current subscribers; a PONG confirms that the server has the messages.

    Its methods have no time-out. They raise nats-py's errors, or a `DeliveryError`.
    """

    def __init__(self, connection: Connection, subject: str, *, needs_headers: bool) -> None:
        self.connection = connection
        self.subject = subject
        self.needs_headers = needs_headers

    async def open(self) -> None:
        """Prepare a new connection."""
        if self.needs_headers and not self.connection.supports_headers:
            raise Retryable(
                "this server supports no headers, which JetStream and shape = cloudevents-binary "
                "need"
            )

    async def check_alive(self) -> None:
        """Check that the server answers."""
        await self.connection.confirm_writes()

    async def send(self, batch: Batch) -> None:
        """Publish the messages, and settle those that the server confirms or refuses."""
        put, subject = self.connection.put, self.subject.encode()
        limit, headers = self.connection.max_payload, self.connection.supports_headers
        sent = []
        for position, head, body in batch.messages(limit, headers=headers):
            put(encode_publish(subject, body, head))
            sent.append(position)
            if len(sent) % PART == 0:
                await self.connection.write_pending()
        await self.connection.confirm_writes()
        batch.confirm(sent)

    async def probe(self) -> None:
        """Check whether `send` would succeed, without sending."""
        await self.check_alive()

    async def close(self) -> None:
        """Deregister this client, if the server has a register."""
