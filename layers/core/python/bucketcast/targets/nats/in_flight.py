"""Messages in flight, which the server acknowledges one by one."""

from collections.abc import Callable

from nats.aio.msg import Msg

from bucketcast.errors import DeliveryError
from bucketcast.targets.nats.batch import Batch, Message
from bucketcast.targets.nats.connection import Connection
from bucketcast.targets.nats.core import PART

ParseReply = Callable[[Msg, Message], DeliveryError | None]
"""Returns the failure in the reply to a message; None for an acknowledgement."""


class InFlight:
    """The messages in flight over a connection, at most `limit` at a time."""

    def __init__(self, connection: Connection, limit: int, parse_reply: ParseReply) -> None:
        self._connection = connection
        self._limit = limit
        self._parse_reply = parse_reply
        self._inbox = connection.new_inbox()
        self._number = 0
        self._waiting: dict[str, tuple[Batch, Message]] = {}
        self._awaited_count = 0
        """The number of waiting messages at which the current wait ends."""

    async def open(self) -> None:
        """Subscribe to the replies."""
        await self._connection.subscribe(f"{self._inbox}.*", cb=self._handle_reply)

    async def wait_for_room(self) -> None:
        """Wait while the limit is reached; then until half are settled, so as to wait seldom."""
        if len(self._waiting) >= self._limit:
            await self._wait_until(self._limit // 2)
        elif self._number % PART == 0:
            await self._connection.write_pending()

    async def wait_for_all(self) -> None:
        """Wait until all messages are settled."""
        await self._wait_until(0)

    def add(self, batch: Batch, message: Message) -> str:
        """Add a message that is about to be sent; return the subject for its reply."""
        self._number += 1
        inbox = f"{self._inbox}.{self._number}"
        self._waiting[inbox] = batch, message
        return inbox

    async def _wait_until(self, count: int) -> None:
        self._awaited_count = count
        await self._connection.write_pending()
        await self._connection.wait_until(lambda: len(self._waiting) <= count)

    async def _handle_reply(self, reply: Msg) -> None:
        batch, message = self._waiting.pop(reply.subject)
        batch.settle(message.position, self._parse_reply(reply, message))
        if len(self._waiting) <= self._awaited_count:
            self._connection.state_changed.set()
