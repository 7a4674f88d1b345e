"""Relays before servers, by which connections are cut: at once, or in the middle of an answer.

A `Link` listens on a port of its own and hands on every byte, encrypted or not, until it has to
misbehave. What it does to a connection is done to both its ends at once, as a router that was reset
would: no goodbye, the next segment is answered by a reset.
"""

import asyncio
import random
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from tests.servers.machine import ports

T = TypeVar("T")
_CHUNK = 65_536
_NOW = 60.0
"""Seconds that the relays' own thread may take for a call."""


class Links:
    """The thread that relays; it ends with the program, or when it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="links")
        self._thread.start()
        self._made: list[Link] = []

    def open(self, folder: Path, to: int, port: int = 0, host: str = "127.0.0.1") -> "Link":
        """A relay to a port of this machine; its own port is kept in `folder` if none is given."""
        link = Link(self, port or ports(folder, "link")["link"], to, host)
        self._made.append(link)
        link.restore()
        return link

    def close(self) -> None:
        for link in self._made:
            link.cut_off()
        self.run(_all_done())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_NOW)
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Let the thread do it, and wait."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_NOW)


class Link:
    """One relay."""

    def __init__(self, links: Links, port: int, to: int, host: str) -> None:
        self.host = host
        self.port = port
        self.to = to
        self._links = links
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._chance = 0.0
        self._random = random.Random(port)  # noqa: S311 - where a connection is cut

    def restore(self) -> None:
        """Relay everything."""
        self._links.run(self._restore())

    def cut_off(self) -> None:
        """Break all connections and refuse new ones, until `restore`."""
        self._links.run(self._cut_off())

    def sever(self) -> None:
        """Break all connections; new ones are taken."""
        self._links.run(self._sever())

    def cut_answers(self, chance: float) -> None:
        """Break a connection in the middle of an answer, by chance for each piece of one.

        Of that piece some bytes are handed on. It lasts until `restore`.
        """
        self._chance = chance

    async def _restore(self) -> None:
        self._chance = 0.0
        if self._server is None:
            self._server = await asyncio.start_server(
                self._relay, self.host, self.port, limit=_CHUNK, backlog=512
            )

    async def _cut_off(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._sever()

    async def _sever(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()
        self._open.clear()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answers, server = await asyncio.open_connection("127.0.0.1", self.to, limit=_CHUNK)
        except OSError:
            writer.transport.abort()
            return
        both = (writer, server)
        self._open.update(both)
        try:
            await asyncio.gather(self._ask(reader, server), self._answer(answers, writer))
        except OSError:
            for each in both:
                each.transport.abort()
        finally:
            for each in both:
                self._open.discard(each)
                each.close()

    async def _ask(self, reader: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
        while data := await reader.read(_CHUNK):
            server.write(data)
            await server.drain()
        if server.can_write_eof() and not server.transport.is_closing():
            server.write_eof()

    async def _answer(self, answers: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await answers.read(_CHUNK):
            if self._chance and self._random.random() < self._chance:
                writer.write(data[: self._random.randrange(len(data))])
                raise ConnectionResetError
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof() and not writer.transport.is_closing():
            writer.write_eof()


async def _all_done() -> None:
    """Wait for the relays whose connections were just broken."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for each in left:
        each.cancel()
    await asyncio.gather(*left, return_exceptions=True)
