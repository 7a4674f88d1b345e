"""Messages in flight, which the server acknowledges one by one."""

from collections.abc import Callable

from bucketcast.errors import DeliveryError
from bucketcast.targets.nats.batch import Batch
from bucketcast.targets.nats.connection import Connection
from bucketcast.targets.nats.core import PART

ParseReply = Callable[[bytes, bytes], DeliveryError | None]
"""Returns the failure in the reply to a message, from the reply's data and encoded headers; None
for an acknowledgement. It must not raise."""


class InFlight:
    """The messages in flight over a connection, at most `limit` at a time."""

    def __init__(self, connection: Connection, limit: int, parse_reply: ParseReply) -> None:
        self._connection = connection
        self._limit = limit
        self._parse_reply = parse_reply
        self._inbox = connection.new_inbox().encode()
        self._number = 0
        self._waiting: dict[bytes, tuple[Batch, int]] = {}
        self._awaited_count = 0
        """The number of waiting messages at which the current wait ends."""

    async def open(self) -> None:
        """Subscribe to the replies."""
        subject = f"{self._inbox.decode()}.*"
        await self._connection.subscribe_to_replies(subject, self._handle_reply)

    async def wait_for_room(self) -> None:
        """Wait while the limit is reached; then until half are settled, so as to wait seldom."""
        if len(self._waiting) >= self._limit:
            await self._wait_until(self._limit // 2)
        elif self._number % PART == 0:
            await self._connection.write_pending()

    async def wait_for_all(self) -> None:
        """Wait until all messages are settled."""
        await self._wait_until(0)

    def add(self, batch: Batch, position: int) -> bytes:
        """Add a message that is about to be sent for an event; return the subject for its reply."""
        self._number += 1
        subject = b"%b.%d" % (self._inbox, self._number)
        self._waiting[subject] = batch, position
        return subject

    async def _wait_until(self, count: int) -> None:
        self._awaited_count = count
        await self._connection.write_pending()
        await self._connection.wait_until(lambda: len(self._waiting) <= count)

    def _handle_reply(self, subject: bytes, data: bytes, headers: bytes) -> None:
        waiting = self._waiting.pop(subject, None)
        if waiting is None:  # of two streams with this subject, the second replies too
            return
        batch, position = waiting
        batch.settle(position, self._parse_reply(data, headers))
        if len(self._waiting) <= self._awaited_count:
            self._connection.state_changed.set()
