"""A connection with the event loop that it lives on, for callers that use neither."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from bucketcast.errors import DeliveryError
from bucketcast.targets.base import CONNECT_SECONDS, tls
from bucketcast.targets.nats.connection import Connection
from bucketcast.targets.nats.core import Core
from bucketcast.targets.nats.errors import RAISED, delivery_error
from bucketcast.targets.nats.login import login
from bucketcast.targets.nats.settings import NatsSettings

CLOSE_SECONDS = 1.0
IDLE_SECONDS = 5.0
"""A connection that was left alone for longer is tried before anything is sent over it."""

Work = Callable[[Core], Coroutine[Any, Any, None]]
MakePublisher = Callable[[Connection], Core]


class Client:
    """The loop runs only while somebody waits for it: between two calls nothing is in flight.

    So nothing goes wrong in a function that is frozen then, and no thread is left in the end.
    """

    def __init__(self, settings: NatsSettings, make_publisher: MakePublisher) -> None:
        """Connect.

        Raises:
            DeliveryError: there is no connection.
        """
        self._settings = settings
        self._where = settings.host_port
        self._loop = asyncio.new_event_loop()
        self._connection = Connection(encrypted=settings.encrypted)
        self._publisher = make_publisher(self._connection)
        self._used = 0.0
        try:
            self.run(self._open, CONNECT_SECONDS, connecting=True)
        except BaseException:
            self.close()
            raise

    def run(self, work: Work, seconds: float, *, connecting: bool = False) -> None:
        """Let that work be done within so many seconds.

        Raises:
            DeliveryError: it was not, and the connection is of no more use.
        """

        async def bounded() -> None:
            async with asyncio.timeout(seconds):
                await work(self._publisher)

        try:
            self._loop.run_until_complete(bounded())
        except RAISED as error:
            raise delivery_error(
                error, self._settings, self._where, connecting=connecting
            ) from None
        self._used = time.time()

    def is_alive(self) -> bool:
        """Return whether it can still be used: servers stop, and close idle connections."""
        # The clock on the wall, as others may stand still while a function is frozen.
        idle = abs(time.time() - self._used) > IDLE_SECONDS
        try:
            self.run(_tried if idle else _looked, CONNECT_SECONDS)
        except DeliveryError:
            return False
        return self._connection.is_connected

    def say_goodbye(self) -> None:
        """Tell the server, if it listens, that this client leaves."""
        with suppress(DeliveryError):
            if self._connection.is_connected:
                self.run(lambda publisher: publisher.close(), CLOSE_SECONDS)

    def close(self) -> None:
        """Release everything at once."""
        self._connection.abort()
        self._loop.run_until_complete(_cancelled())
        self._loop.close()

    async def _open(self, publisher: Core) -> None:
        settings = self._settings
        options = login(settings)
        if settings.encrypted:
            options["tls"] = tls.context(settings)
        await self._connection.open(
            self._where,
            ping_interval=settings.ping_interval,
            tls_handshake_first=settings.tls_handshake_first,
            **options,
        )
        await publisher.open()


async def _tried(publisher: Core) -> None:
    await _looked(publisher)
    await publisher.alive()


async def _looked(publisher: Core) -> None:  # noqa: ARG001 - as any work
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
