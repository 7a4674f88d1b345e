"""A connection with the event loop that it lives on, for callers that know of neither."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from bucketcast import tls
from bucketcast.errors import DeliveryError
from bucketcast.targets.nats import login
from bucketcast.targets.nats.connection import Connection
from bucketcast.targets.nats.core import Core
from bucketcast.targets.nats.errors import RAISED, outcome

CONNECT_SECONDS = 5.0
CLOSE_SECONDS = 1.0
IDLE_SECONDS = 5.0
"""A connection that was left alone for longer is tried before anything is sent over it."""

Work = Callable[[Core], Coroutine[Any, Any, None]]
Way = Callable[[Connection], Core]


class Given(tls.Given, login.Given, Protocol):
    """The target's options that are about the connection."""

    @property
    def encrypted(self) -> bool: ...
    @property
    def tls_handshake_first(self) -> bool: ...
    @property
    def ping_interval(self) -> float: ...


class Link:
    """The loop runs only while somebody waits for it: between two calls nothing is under way.

    So nothing goes wrong in a function that is frozen then, and no thread is left in the end.
    """

    def __init__(self, given: Given, address: str, way: Way) -> None:
        """Connect.

        Raises:
            DeliveryError: there is no connection.
        """
        self._given = given
        self._where = address
        self._loop = asyncio.new_event_loop()
        self._connection = Connection(encrypted=given.encrypted)
        self._way = way(self._connection)
        self._used = 0.0
        try:
            self._run(self._open, CONNECT_SECONDS, connecting=True)
        except BaseException:
            self.end()
            raise

    def run(self, work: Work, seconds: float) -> None:
        """Let that work be done within so many seconds.

        Raises:
            DeliveryError: it was not, and the connection is of no more use.
        """
        self._run(work, seconds)

    def is_alive(self) -> bool:
        """Whether it can still be used: servers end, and they end connections that are idle."""
        # The clock on the wall, as others may stand still while a function is frozen.
        idle = abs(time.time() - self._used) > IDLE_SECONDS
        try:
            self._run(_tried if idle else _looked, CONNECT_SECONDS)
        except DeliveryError:
            return False
        return self._connection.is_connected

    def close(self) -> None:
        """Take leave, if the server hears it, and let go of everything."""
        try:
            if self._connection.is_connected:
                self._run(lambda way: way.close(), CLOSE_SECONDS)
        except DeliveryError:
            pass
        finally:
            self.end()

    def end(self) -> None:
        """Let go of everything at once."""
        self._connection.abort()
        self._loop.run_until_complete(_cancelled())
        self._loop.close()

    def _run(self, work: Work, seconds: float, *, connecting: bool = False) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(seconds):
                await work(self._way)

        try:
            self._loop.run_until_complete(bounded())
        except RAISED as error:
            raise outcome(error, self._given, self._where, connecting=connecting) from None
        self._used = time.time()

    async def _open(self, way: Core) -> None:
        given = self._given
        options = login.login(given)
        if given.encrypted:
            options["tls"] = tls.context(given)
        await self._connection.open(
            self._where,
            ping_interval=given.ping_interval,
            tls_handshake_first=given.tls_handshake_first,
            **options,
        )
        await way.open()


async def _tried(way: Core) -> None:
    await _looked(way)
    await way.alive()


async def _looked(way: Core) -> None:  # noqa: ARG001 - as any work
    """Let the client see what the server said meanwhile."""
    for _ in range(3):
        await asyncio.sleep(0)


async def _cancelled() -> None:
    """End what nats-py left running."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0)  # sockets close one turn later
