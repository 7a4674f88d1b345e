"""Stream one listener's events from its queue to its client.

A message is deleted a second after all of its events were written, if the client is still connected
then: a client that disconnected unnoticed gets the last ones again. While the client does not read,
no more is received than a buffer holds; the rest waits in the queue.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from bucketcast.control.listen.idle import IdleMonitor
from bucketcast.control.listen.queue import (
    WAIT_SECONDS,
    Message,
    Queue,
    QueueGoneError,
    QueueTimeoutError,
)
from bucketcast.control.listen.reorder import ReorderBuffer
from bucketcast.delivery.envelope import unpack
from bucketcast.listeners import BOUND_SECONDS, EventsLostError
from bucketcast.shapes import minio
from bucketcast.telemetry import logger

Write = Callable[[bytes], Awaitable[None]]
MAX_BUFFERED_BYTES: Final = 262_144
SPACE_SECONDS: Final = 0.5
SETTLED_SECONDS: Final = 1.0
PING: Final = b'{"Records":null}\n'
_PIECE: Final = 65_536
_AGAIN_SECONDS: Final = 1.0


@dataclass(slots=True, eq=False)
class _Open:
    """A message that is not deleted yet; `left` are its events that are not written."""

    message: Message
    left: int
    written_at: float = 0.0


@dataclass(slots=True, eq=False)
class _Line:
    text: bytes
    of: _Open


@dataclass(slots=True)
class Pulse:
    """The keep-alive of a stream: `ping` is in seconds, 0 for the spaces that older clients want.

    Without `shown` nothing but events is written.
    """

    ping: float = 0.0
    shown: bool = True

    @property
    def seconds(self) -> float:
        return self.ping or SPACE_SECONDS

    @property
    def text(self) -> bytes:
        return (PING if self.ping else b" ") if self.shown else b""


@dataclass(eq=False)
class Stream:
    """Writes events as lines until it is ended; `bound` is an event's maximum age in seconds."""

    queue: Queue
    quiet: IdleMonitor
    write: Write
    pulse: Pulse = field(default_factory=Pulse)
    bound: float = BOUND_SECONDS
    warn: Callable[[str], None] = logger.warning
    now: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        self._window: ReorderBuffer[_Line] = ReorderBuffer()
        self._open: dict[str, _Open] = {}
        self._bytes = 0
        self._quiet = float("-inf")
        self._room = asyncio.Event()
        self._room.set()
        self._stirred = asyncio.Event()
        self._ended = False
        self._failure: Exception | None = None
        self.written = 0

    def end(self) -> None:
        """End the stream; `run` returns soon."""
        self._ended = True
        self._stirred.set()

    def lose(self) -> None:
        """Report lost events; `run` raises soon."""
        self._failure = EventsLostError(
            "whoever read the events stood still for too long, and some are lost: list the bucket "
            "to see what it holds, and listen again"
        )
        self._stirred.set()

    async def run(self) -> None:
        """Write until it is ended.

        Raises:
            EventsLostError: the client did not read for longer than events are kept, or `lose`
                was called.
            QueueGoneError: there is no such queue any more.
        """
        tasks = [asyncio.ensure_future(each) for each in (self._fetch(), self._settle())]
        try:
            await self._tell()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._leave()

    async def once(self, seconds: float) -> None:
        """Write the events of up to so many seconds, and return after the first."""
        with suppress(QueueTimeoutError):
            self._take(await self.queue.receive(seconds))
        while self._window:
            await self._see_quiet()
            await self._write(self._taken())
            await self._rest(self.now() + seconds)
        self.quiet.leave(self._stirred)
        await self._delete(list(self._open.values()))

    async def _tell(self) -> None:
        pulse_at = self.now() + self.pulse.seconds
        while not self._ended:
            if self._failure:
                raise self._failure
            await self._see_quiet()
            lines = self._taken()
            if lines:
                await self._write(lines)
            elif pulse_at <= self.now() and self.pulse.text:
                await self._within_bound(self.pulse.text)
            else:
                await self._rest(pulse_at)
                continue
            pulse_at = self.now() + self.pulse.seconds

    async def _rest(self, until: float) -> None:
        """Wait until an event is due, or something happened."""
        self._stirred.clear()
        due = self._window.due()
        if due is not None:
            self.quiet.ask(self._stirred)
        wake = until if due is None else min(until, due)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, wake - self.now())):
                await self._stirred.wait()

    def _taken(self) -> list[_Line]:
        return self._window.take(self.now(), self._quiet)

    async def _see_quiet(self) -> None:
        """Receive once if nothing is in flight to the queue, to see that it is empty too."""
        since = self.quiet.since
        if not self._window or since <= self._quiet:
            return
        found: Sequence[Message] = ()
        if self._room.is_set():
            try:
                found = await self.queue.receive(0)
            except (QueueGoneError, QueueTimeoutError):
                return  # `_fetch` raises it too
            self._take(found)
        if not found:
            self._quiet = since

    async def _write(self, lines: Sequence[_Line]) -> None:
        piece: list[_Line] = []
        size = 0
        for line in lines:
            piece.append(line)
            size += len(line.text)
            if size >= _PIECE:
                await self._write_piece(piece)
                piece, size = [], 0
        if piece:
            await self._write_piece(piece)

    async def _write_piece(self, lines: Sequence[_Line]) -> None:
        await self._within_bound(b"".join(line.text for line in lines))
        if self._ended:
            return  # the client may have disconnected before
        for line in lines:
            line.of.left -= 1
            line.of.written_at = self.now()
            self._count(-len(line.text))
        self.written += len(lines)
        self._stirred.set()

    async def _within_bound(self, text: bytes) -> None:
        try:
            async with asyncio.timeout(self.bound):
                await self.write(text)
        except TimeoutError:
            raise self._lost() from None

    async def _fetch(self) -> None:
        """Receive while the buffer has room, through errors of SQS."""
        try:
            while True:
                await self._room.wait()
                try:
                    await self._receive()
                except QueueTimeoutError as error:
                    self.warn(f"a listener's queue cannot be read now: {error}")
                    await asyncio.sleep(_AGAIN_SECONDS)
        except Exception as error:  # noqa: BLE001 - whoever writes is to end too
            self._failure = error
            self._stirred.set()

    async def _receive(self) -> None:
        """Wait for messages; a cancelled wait releases those that still arrive."""
        waiting = asyncio.ensure_future(self.queue.receive(WAIT_SECONDS))
        try:
            self._take(await asyncio.shield(waiting))
        except asyncio.CancelledError:
            given_back = asyncio.ensure_future(_give_back(self.queue, waiting))
            _at_work.add(given_back)
            given_back.add_done_callback(_at_work.discard)
            raise

    def _take(self, messages: Sequence[Message]) -> None:
        for message in messages:
            open_message = self._open.get(message.id)
            if open_message is not None:
                open_message.message = message  # seen again before it was written: a new receipt
                continue
            if self.wall() - message.sent / 1_000 > self.bound:
                raise self._lost()
            self._hold(message)
        if messages:
            self._stirred.set()

    def _hold(self, message: Message) -> None:
        try:
            events = [delivery.event for delivery in unpack(message.body)[1]]
            lines = [minio.heard(event) for event in events]
        except Exception as error:  # noqa: BLE001 - one message must not end the stream
            self.warn(f"a listener's message {message.id} cannot be read: {error}")
            events, lines = [], []
        open_message = self._open[message.id] = _Open(message, len(lines), self.now())
        for event, text in zip(events, lines, strict=True):
            self._window.push(event, _Line(text, open_message), self.now())
            self._count(len(text))

    def _count(self, size: int) -> None:
        self._bytes += size
        if self._bytes < MAX_BUFFERED_BYTES:
            self._room.set()
        else:
            self._room.clear()

    async def _settle(self) -> None:
        """Delete messages that were written long enough ago."""
        while True:
            await asyncio.sleep(SETTLED_SECONDS)
            await self._delete(self._settled())

    def _settled(self) -> list[_Open]:
        before = self.now() - SETTLED_SECONDS
        return [one for one in self._open.values() if not one.left and one.written_at <= before]

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
        self.quiet.leave(self._stirred)
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
