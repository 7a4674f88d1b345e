"""A connection with its own event loop, for synchronous callers."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from nats import errors

from bucketcast.errors import DeliveryError
from bucketcast.targets.base import CONNECT_SECONDS, connecting, tls
from bucketcast.targets.nats.answers import ANSWERS
from bucketcast.targets.nats.connection import Connection
from bucketcast.targets.nats.core import Core
from bucketcast.targets.nats.login import login_options
from bucketcast.targets.nats.settings import STREAMING_IN_FLIGHT, NatsSettings

CLOSE_SECONDS = 1.0
IDLE_SECONDS = 5.0
"""A connection that was idle for longer is checked before it is used."""

Work = Callable[[Core], Coroutine[Any, Any, None]]


class _Loop(asyncio.SelectorEventLoop):
    """A loop that connects as all targets do, which only the connection itself waits for."""

    async def create_connection(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any
    ) -> Any:
        line = connecting.connect(host, port, time.monotonic() + CONNECT_SECONDS)
        return await super().create_connection(protocol_factory, sock=line, **options)


class Client:
    """A connection whose loop only runs during a call: between calls nothing is in flight.

    So it needs no thread, and a frozen function loses nothing.
    """

    def __init__(self, settings: NatsSettings, *, needs_headers: bool) -> None:
        """Connect.

        Raises:
            DeliveryError: the server cannot be reached, or refuses the login.
        """
        self._settings = settings
        self._where = str(settings.server)
        self._loop = _Loop()
        self._connection = Connection(encrypted=settings.encrypted)
        self._publisher = _publisher(settings, self._connection, needs_headers=needs_headers)
        self._last_used = 0.0
        try:
            self.run(self._open, CONNECT_SECONDS, connecting=True)
        except BaseException:
            self.close()
            raise

    def run(self, work: Work, seconds: float, *, connecting: bool = False) -> None:
        """Do the work within so many seconds.

        Raises:
            DeliveryError: it failed, and the connection cannot be used any more.
        """

        async def bounded() -> None:
            async with asyncio.timeout(seconds):
                await work(self._publisher)

        try:
            self._loop.run_until_complete(bounded())
        except (errors.Error, OSError) as error:
            raise ANSWERS.of(error, self._where, connecting=connecting) from None
        self._last_used = time.time()

    def is_usable(self) -> bool:
        """Return False if the connection has ended: servers stop, and close idle connections."""
        # The wall clock, since others may stop while a function is frozen.
        idle = abs(time.time() - self._last_used) > IDLE_SECONDS
        try:
            self.run(_check_alive if idle else _process_input, CONNECT_SECONDS)
        except DeliveryError:
            return False
        return self._connection.is_connected

    def deregister(self) -> None:
        """Deregister at the server, if it still answers."""
        with suppress(DeliveryError):
            if self._connection.is_connected:
                self.run(lambda publisher: publisher.close(), CLOSE_SECONDS)

    def close(self) -> None:
        """Close the socket and the loop without waiting for the server."""
        self._connection.abort()
        self._loop.run_until_complete(_cancel_tasks())
        self._loop.close()

    async def _open(self, publisher: Core) -> None:
        settings = self._settings
        options = login_options(settings)
        if settings.encrypted:
            options["tls"] = tls.context(settings)
            options["tls_hostname"] = connecting.without_dot(settings.server.host)
        await self._connection.open(
            self._where,
            ping_interval=settings.ping_interval,
            tls_handshake_first=settings.tls_handshake_first,
            **options,
        )
        await publisher.open()


def _publisher(settings: NatsSettings, connection: Connection, *, needs_headers: bool) -> Core:
    """Return the publisher for the settings; import only its module."""
    subject = settings.subject
    if settings.streams:
        from bucketcast.targets.nats.streaming import Streaming  # noqa: PLC0415

        limit = settings.streaming_max_pub_acks_in_flight or STREAMING_IN_FLIGHT
        limit = limit if settings.streaming_async else 1
        return Streaming(connection, subject, settings.streaming_cluster_id, limit)
    if settings.jetstream:
        from bucketcast.targets.nats.jetstream import JetStream  # noqa: PLC0415

        return JetStream(connection, subject, settings.jetstream_domain)
    return Core(connection, subject, needs_headers=needs_headers)


async def _check_alive(publisher: Core) -> None:
    await _process_input(publisher)
    await publisher.check_alive()


async def _process_input(publisher: Core) -> None:  # noqa: ARG001 - as any work
    """Let nats-py process pending input from the server."""
    for _ in range(3):
        await asyncio.sleep(0)


async def _cancel_tasks() -> None:
    """End the tasks that nats-py left running."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0)  # sockets close in the loop's next iteration
