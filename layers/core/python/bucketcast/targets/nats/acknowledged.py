"""Messages that the server acknowledges one by one, many of them on their way at a time."""

from collections.abc import Callable

from nats.aio.msg import Msg

from bucketcast.errors import DeliveryError
from bucketcast.targets.nats.batch import Batch, Message
from bucketcast.targets.nats.connection import Connection
from bucketcast.targets.nats.core import PART

Read = Callable[[Msg, Message], DeliveryError | None]
"""Makes of an answer to a message the failure that it tells."""


class Acknowledged:
    """What is on its way over a connection, `most` messages at a time."""

    def __init__(self, connection: Connection, most: int, read: Read) -> None:
        self._connection = connection
        self._most = most
        self._read = read
        self._inbox = connection.new_inbox()
        self._number = 0
        self._waiting: dict[str, tuple[Batch, Message]] = {}
        self._few = 0
        """How many may still be on their way when who waits goes on."""

    async def open(self) -> None:
        """Listen to the answers."""
        await self._connection.subscribe(f"{self._inbox}.*", cb=self._take)

    async def room(self) -> None:
        """Wait while no more may be sent; then until half are answered, so as to wait seldom."""
        if len(self._waiting) >= self._most:
            await self._until(self._most // 2)
        elif self._number % PART == 0:
            await self._connection.written()

    async def all(self) -> None:
        """Wait until the last is answered."""
        await self._until(0)

    def reply(self, batch: Batch, message: Message) -> str:
        """Return where the answer to this message is to go."""
        self._number += 1
        inbox = f"{self._inbox}.{self._number}"
        self._waiting[inbox] = batch, message
        return inbox

    async def _until(self, few: int) -> None:
        self._few = few
        await self._connection.written()
        await self._connection.until(lambda: len(self._waiting) <= few)

    async def _take(self, answer: Msg) -> None:
        batch, message = self._waiting.pop(answer.subject)
        batch.settle(message.position, self._read(answer, message))
        if len(self._waiting) <= self._few:
            self._connection.heard.set()
