"""Connections to Redis, and commands that are pipelined over them."""

import socket
import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from bucketcast.targets.base import CONNECT_SECONDS, IDLE_SECONDS, tls
from bucketcast.targets.redis.settings import RedisSettings

if TYPE_CHECKING:
    import redis

Command = tuple[str | bytes | int, ...]
T = TypeVar("T")


class Client:
    """A pool of connections, one for each thread that uses it."""

    def __init__(self, settings: RedisSettings, timeout: float) -> None:
        from redis import Connection, ConnectionPool  # noqa: PLC0415 - only who delivers carries it
        from redis.driver_info import DriverInfo  # noqa: PLC0415

        self._pool = ConnectionPool(
            connection_class=_encrypted(settings, timeout) if settings.tls else Connection,
            host=settings.host,
            port=settings.port,
            **_login(settings),
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=timeout,
            protocol=2,
            driver_info=DriverInfo("bucketcast", None),
        )
        self._used = time.time()

    @contextmanager
    def connection(self) -> Iterator["redis.Connection"]:
        """Lend a connection; an answer that nobody read must not be left on it."""
        if abs(time.time() - self._used) > IDLE_SECONDS:
            self._pool.disconnect(inuse_connections=False)
        self._used = time.time()
        connection = self._pool.get_connection()
        try:
            yield connection
        except BaseException:
            connection.disconnect()  # type: ignore[no-untyped-call]
            raise
        finally:
            self._used = time.time()
            self._pool.release(connection)

    def close(self) -> None:
        self._pool.disconnect()


def ask(connection: "redis.Connection", *command: str | bytes | int) -> Any:
    """Return the answer to a command."""
    connection.send_command(*command)  # type: ignore[no-untyped-call]
    return connection.read_response()


def exchange(
    connection: "redis.Connection", calls: Iterable[tuple[T, Command]]
) -> Iterator[tuple[T, Any]]:
    """Pipeline commands; yield what each is about with its answer, which may be a refusal.

    Raises:
        RedisError, OSError: the connection broke; the calls that are left have no answer.
    """
    from redis.exceptions import ResponseError  # noqa: PLC0415 - only its own function carries it

    sent: list[T] = []
    for about, command in calls:
        connection.send_command(*command)  # type: ignore[no-untyped-call]
        sent.append(about)
    for about in sent:
        try:
            answer: Any = connection.read_response()
        except ResponseError as error:
            answer = error
        yield about, answer


def _login(settings: RedisSettings) -> dict[str, Any]:
    if settings.by_iam:
        from bucketcast.targets.redis.iam import IamCredentials  # noqa: PLC0415 - needs redis-py

        return {"credential_provider": IamCredentials(settings)}
    # MinIO logs in with a user only where there is a password.
    user = (settings.user or None) if settings.password else None
    return {"username": user, "password": settings.password.reveal() or None}


def _encrypted(settings: RedisSettings, timeout: float) -> type["redis.SSLConnection"]:
    """Return a connection class with our TLS context: redis-py's takes files only."""
    from redis import SSLConnection  # noqa: PLC0415

    context = tls.context(settings)

    class Encrypted(SSLConnection):
        def _wrap_socket_with_ssl(self, sock: socket.socket) -> ssl.SSLSocket:
            sock.settimeout(CONNECT_SECONDS)
            encrypted = context.wrap_socket(sock, server_hostname=self.host)
            encrypted.settimeout(timeout)
            return encrypted

    return Encrypted
