"""Stream one listener's events from its queue to its client.

A message is deleted a second after it was written, if the client is still connected then: a client
whose disconnect went unnoticed gets the last messages again. While the client does not read, no
further messages are received; they wait in the queue.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from bucketcast.delivery.envelope import unpack
from bucketcast.event import Event
from bucketcast.listen.listener import KEEP_SECONDS, MAX_AGE_SECONDS, EventsLostError
from bucketcast.listen.queue import BATCH, WAIT_SECONDS, Message, Queue, QueueUnavailableError
from bucketcast.shapes import minio
from bucketcast.telemetry import logger

Write = Callable[[bytes], Awaitable[None]]
MaySee = Callable[[Event], Awaitable[bool]]
"""Returns True if an event may be written."""
DELETE_AFTER_SECONDS: Final = 1.0
AGAIN_SECONDS: Final = 12
"""Before clients alike get an event again: at most six times in the minute one may be away."""
POLL_BATCHES: Final = 10
"""So many are received for one answer: who pauses for half a minute gets 200 messages a minute."""
POLL_BYTES: Final = 3_000_000
"""After which no further message is written into one answer: Lambda takes 6 MB, in which quotes and
control characters are longer still."""
PING: Final = b'{"Records":null}\n'
_SPACE_SECONDS: Final = 0.5
_RETRY_SECONDS: Final = 1.0
_releases: set["asyncio.Future[None]"] = set()


class KeepAlive(NamedTuple):
    """The bytes to write after so many seconds without an event."""

    content: bytes
    seconds: float


def keep_alive(ping: int) -> KeepAlive:
    """Return a line every `ping` seconds; for 0 the spaces that older clients expect."""
    return KeepAlive(PING, ping) if ping else KeepAlive(b" ", _SPACE_SECONDS)


@dataclass(slots=True)
class _Pending:
    """A message to delete; `written_at` is None until all of it is written."""

    message: Message
    written_at: float | None = None


async def _see_all(_: Event) -> bool:
    return True


@dataclass(eq=False)
class Stream:
    """Writes the events that `may_see` allows as lines, until it is ended.

    `max_age` is an event's maximum age in seconds, `line` returns what is written of an event.
    """

    queue: Queue
    write: Write
    keep_alive: KeepAlive | None = None
    max_age: float = MAX_AGE_SECONDS
    warn: Callable[[str], None] = logger.warning
    clock: Callable[[], float] = time.time
    may_see: MaySee = _see_all
    line: Callable[[Event], bytes] = minio.listen_line

    def __post_init__(self) -> None:
        self._pending: dict[str, _Pending] = {}
        self._written_at = time.monotonic()
        self._ended = asyncio.Event()
        self._failure: EventsLostError | None = None

    def end(self) -> None:
        """End the stream; `run` returns soon."""
        self._ended.set()

    def report_loss(self) -> None:
        """Report lost events; `run` raises soon."""
        self._failure = EventsLostError(
            "the process that read the events was suspended for too long, and some are lost: list "
            "the bucket to see what it holds, and listen again"
        )
        self._ended.set()

    async def run(self) -> None:
        """Write until the stream is ended.

        Raises:
            EventsLostError: the client did not read for longer than events are kept, or
                `report_loss` was called.
            QueueNotFoundError: the queue does not exist.
        """
        coroutines = (self._deliver(), self._delete_written(), self._ended.wait())
        tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._release_messages()
        if self._failure:
            raise self._failure
        for task in done:
            task.result()

    async def poll(self, seconds: float, twins: Callable[[], Awaitable[int]]) -> None:
        """Wait up to `seconds` for events, and write those that are there then.

        With twins they come again as long as one may be away: whose client has come, and from which
        queue it was served, cannot be told.
        """
        room, wait = float(POLL_BYTES), seconds
        with suppress(QueueUnavailableError):
            for _ in range(POLL_BATCHES):
                messages = await self.queue.receive(wait)
                room, wait = await self._write(messages, room), 0
                if room <= 0 or len(messages) < BATCH:
                    break
        pending = list(self._pending.values())
        written = [each for each in pending if each.written_at]
        since = (self.clock() - KEEP_SECONDS) * 1_000
        recent = [each for each in written if each.message.sent > since]
        again = recent if recent and await twins() else []
        await self._release([each for each in pending if each not in written])
        await self._release(again, AGAIN_SECONDS)
        await self._delete([each for each in written if each not in again])

    async def _deliver(self) -> None:
        """Receive and write messages, also after errors of SQS.

        A batch takes no longer than the maximum age, so that SQS drops no message unnoticed.
        """
        while True:
            try:
                async with asyncio.timeout(self.max_age):
                    await self._deliver_batch()
            except TimeoutError:
                raise self._age_error() from None

    async def _deliver_batch(self) -> None:
        try:
            messages = await self._receive()
        except QueueUnavailableError as error:
            self.warn(f"a listener's queue cannot be read now: {error}")
            await self._wait(asyncio.ensure_future(asyncio.sleep(_RETRY_SECONDS)))
        else:
            await self._write(messages)

    async def _receive(self) -> Sequence[Message]:
        """Wait for messages; if cancelled, release those that still arrive."""
        receiving = asyncio.ensure_future(self.queue.receive(WAIT_SECONDS))
        try:
            await self._wait(receiving)
        except BaseException:
            release = asyncio.ensure_future(_release_late(self.queue, receiving))
            _releases.add(release)
            release.add_done_callback(_releases.discard)
            raise
        return receiving.result()

    async def _wait(self, future: "asyncio.Future[Any]") -> None:
        """Wait for a future, which may fail; keep the client's connection alive meanwhile."""
        if self.keep_alive is None:
            await asyncio.wait([future])
            return
        content, seconds = self.keep_alive
        while not future.done():
            remaining = self._written_at + seconds - time.monotonic()
            await asyncio.wait([future], timeout=max(0.0, remaining))
            if remaining <= 0:
                await self._send(content)

    async def _write(self, messages: Sequence[Message], most: float = math.inf) -> float:
        """Write the new messages, up to the one that makes `most` bytes; return what is left of it.

        A message that is received again has a new receipt.
        """
        new: list[_Pending] = []
        for message in messages:
            known = self._pending.get(message.id)
            if known:
                known.message = message
            else:
                new.append(_Pending(message))
        self._pending |= {pending.message.id: pending for pending in new}
        now = self.clock()
        if any(now - pending.message.sent / 1_000 > self.max_age for pending in new):
            raise self._age_error()
        for pending in new:
            content = await self._format(pending.message)
            await self._send(content)
            pending.written_at = time.monotonic()
            most -= len(content)
            if most <= 0:
                break
        return most

    async def _format(self, message: Message) -> bytes:
        try:
            events = [delivery.event for delivery in unpack(message.body)]
            lines = [(event, self.line(event)) for event in events]
        except Exception as error:  # noqa: BLE001 - one message must not end the stream
            self.warn(f"a listener's message {message.id} cannot be read: {error}")
            return b""
        return b"".join([line for event, line in lines if await self.may_see(event)])

    async def _send(self, content: bytes) -> None:
        if not content:
            return
        await self.write(content)
        self._written_at = time.monotonic()

    async def _delete_written(self) -> None:
        """Delete messages that were written long enough ago."""
        while True:
            await asyncio.sleep(DELETE_AFTER_SECONDS)
            await self._delete(self._long_written())

    def _long_written(self) -> list[_Pending]:
        before = time.monotonic() - DELETE_AFTER_SECONDS
        return [
            pending
            for pending in self._pending.values()
            if pending.written_at and pending.written_at <= before
        ]

    async def _delete(self, written: Sequence[_Pending]) -> None:
        if not written:
            return
        try:
            await self.queue.delete([pending.message.receipt for pending in written])
        except QueueUnavailableError as error:
            self.warn(f"a listener gets events again: {error}")
        for pending in written:
            self._pending.pop(pending.message.id, None)

    async def _release(self, pending: Sequence[_Pending], seconds: int = 0) -> None:
        with suppress(QueueUnavailableError):
            await self.queue.release([each.message.receipt for each in pending], seconds)

    async def _release_messages(self) -> None:
        """Delete the messages written long enough ago, and release the rest."""
        with suppress(Exception):
            await self._delete(self._long_written())
            await self._release([*self._pending.values()])

    def _age_error(self) -> EventsLostError:
        return EventsLostError(
            f"events were not read for {self.max_age / 60:.0f} minutes and are lost: list the "
            "bucket to see what it holds, and listen again"
        )


async def _release_late(queue: Queue, receiving: "asyncio.Future[Sequence[Message]]") -> None:
    with suppress(Exception):
        if messages := await receiving:
            await queue.release([message.receipt for message in messages])
