"""Stream one listener's events from its queue to its client.

A message is deleted a second after it was written, if the client is still connected then: a client
that disconnected unnoticed gets the last ones again. While the client does not read, no more is
received; the rest waits in the queue.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from bucketcast.delivery.envelope import unpack
from bucketcast.listen.listener import BOUND_SECONDS, EventsLostError
from bucketcast.listen.queue import WAIT_SECONDS, Message, Queue, QueueTimeoutError
from bucketcast.shapes import minio
from bucketcast.telemetry import logger

Write = Callable[[bytes], Awaitable[None]]
SETTLED_SECONDS: Final = 1.0
PING: Final = b'{"Records":null}\n'
_SPACE_SECONDS: Final = 0.5
_AGAIN_SECONDS: Final = 1.0


class KeepAlive(NamedTuple):
    """What is written after so many seconds without an event."""

    text: bytes
    seconds: float


def keep_alive(ping: int) -> KeepAlive:
    """Return a line every `ping` seconds, or for 0 the spaces that older clients want."""
    return KeepAlive(PING, ping) if ping else KeepAlive(b" ", _SPACE_SECONDS)


@dataclass(slots=True)
class _Open:
    """A message that is not deleted yet; `written_at` is None until all of it is written."""

    message: Message
    written_at: float | None = None


@dataclass(eq=False)
class Stream:
    """Writes events as lines until it is ended; `bound` is an event's maximum age in seconds."""

    queue: Queue
    write: Write
    keep_alive: KeepAlive | None = None
    bound: float = BOUND_SECONDS
    warn: Callable[[str], None] = logger.warning
    wall: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        self._open: dict[str, _Open] = {}
        self._wrote_at = time.monotonic()
        self._ended = asyncio.Event()
        self._failure: EventsLostError | None = None

    def end(self) -> None:
        """End the stream; `run` returns soon."""
        self._ended.set()

    def lose(self) -> None:
        """Report lost events; `run` raises soon."""
        self._failure = EventsLostError(
            "whoever read the events stood still for too long, and some are lost: list the bucket "
            "to see what it holds, and listen again"
        )
        self._ended.set()

    async def run(self) -> None:
        """Write until it is ended.

        Raises:
            EventsLostError: the client did not read for longer than events are kept, or `lose`
                was called.
            QueueGoneError: there is no such queue any more.
        """
        parts = (self._deliver(), self._settle(), self._ended.wait())
        tasks = [asyncio.ensure_future(each) for each in parts]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._leave()
        if self._failure:
            raise self._failure
        for task in done:
            task.result()

    async def once(self, seconds: float) -> None:
        """Write the events of up to so many seconds, and return after the first."""
        with suppress(QueueTimeoutError):
            await self._write(await self.queue.receive(seconds))
        await self._delete(list(self._open.values()))

    async def _deliver(self) -> None:
        """Receive and write, through errors of SQS.

        A round takes no longer than the bound, so that nothing is dropped from the queue unseen.
        """
        while True:
            try:
                async with asyncio.timeout(self.bound):
                    await self._round()
            except TimeoutError:
                raise self._lost() from None

    async def _round(self) -> None:
        try:
            messages = await self._receive()
        except QueueTimeoutError as error:
            self.warn(f"a listener's queue cannot be read now: {error}")
            await self._wait(asyncio.ensure_future(asyncio.sleep(_AGAIN_SECONDS)))
        else:
            await self._write(messages)

    async def _receive(self) -> Sequence[Message]:
        """Wait for messages; a cancelled wait releases those that still arrive."""
        waiting = asyncio.ensure_future(self.queue.receive(WAIT_SECONDS))
        try:
            await self._wait(waiting)
        except BaseException:
            given_back = asyncio.ensure_future(_give_back(self.queue, waiting))
            _at_work.add(given_back)
            given_back.add_done_callback(_at_work.discard)
            raise
        return waiting.result()

    async def _wait(self, waiting: "asyncio.Future[Any]") -> None:
        """Wait for a future, which may fail, and keep the client's connection alive meanwhile."""
        if self.keep_alive is None:
            await asyncio.wait([waiting])
            return
        text, seconds = self.keep_alive
        while not waiting.done():
            left = self._wrote_at + seconds - time.monotonic()
            await asyncio.wait([waiting], timeout=max(0.0, left))
            if left <= 0:
                await self._send(text)

    async def _write(self, messages: Sequence[Message]) -> None:
        """Write the messages that are new; one that is seen again has a new receipt."""
        found: list[_Open] = []
        for message in messages:
            known = self._open.get(message.id)
            if known:
                known.message = message
            else:
                found.append(_Open(message))
        self._open |= {each.message.id: each for each in found}
        if any(self.wall() - each.message.sent / 1_000 > self.bound for each in found):
            raise self._lost()
        for each in found:
            await self._send(self._lines(each.message))
            each.written_at = time.monotonic()

    def _lines(self, message: Message) -> bytes:
        try:
            return b"".join(minio.listen_line(delivery.event) for delivery in unpack(message.body))
        except Exception as error:  # noqa: BLE001 - one message must not end the stream
            self.warn(f"a listener's message {message.id} cannot be read: {error}")
            return b""

    async def _send(self, text: bytes) -> None:
        if not text:
            return
        await self.write(text)
        self._wrote_at = time.monotonic()

    async def _settle(self) -> None:
        """Delete messages that were written long enough ago."""
        while True:
            await asyncio.sleep(SETTLED_SECONDS)
            await self._delete(self._settled())

    def _settled(self) -> list[_Open]:
        before = time.monotonic() - SETTLED_SECONDS
        return [one for one in self._open.values() if one.written_at and one.written_at <= before]

    async def _delete(self, done: Sequence[_Open]) -> None:
        if not done:
            return
        try:
            await self.queue.delete([one.message.receipt for one in done])
        except QueueTimeoutError as error:
            self.warn(f"a listener hears events again: {error}")
        for one in done:
            self._open.pop(one.message.id, None)

    async def _leave(self) -> None:
        """Delete written messages, and release the rest."""
        with suppress(Exception):
            await self._delete(self._settled())
            await self.queue.release([one.message.receipt for one in self._open.values()])

    def _lost(self) -> EventsLostError:
        return EventsLostError(
            f"events were not read for {self.bound / 60:.0f} minutes and are lost: list the bucket "
            "to see what it holds, and listen again"
        )


async def _give_back(queue: Queue, waiting: "asyncio.Future[Sequence[Message]]") -> None:
    with suppress(Exception):
        if found := await waiting:
            await queue.release([each.receipt for each in found])


_at_work: set["asyncio.Future[None]"] = set()
