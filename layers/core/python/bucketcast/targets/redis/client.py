"""A connection to Redis, and pipelined commands."""

import socket
import ssl
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from bucketcast.aws import iam_login
from bucketcast.targets.base import CONNECT_SECONDS, connecting, tls
from bucketcast.targets.redis.settings import RedisSettings

Command = tuple[str | bytes | int, ...]
T = TypeVar("T")
EVENTS_PER_CALL = 250
"""Few enough to block the server for some ms only, and to fit Lua's stack of 8,000."""


class Client:
    """A connection; after an error it can only be closed."""

    def __init__(self, settings: RedisSettings, timeout: float) -> None:
        from redis.driver_info import DriverInfo  # noqa: PLC0415 - carried by functions that deliver

        self._connection = _connection_class(settings, timeout)(
            host=settings.server.host,
            port=settings.server.port,
            **login(settings),
            socket_timeout=timeout,
            protocol=2,
            driver_info=DriverInfo("bucketcast", None),
        )
        self._connection.connect()

    def is_usable(self) -> bool:
        """Return False if the server closed it: there is no reply that was not read."""
        from redis.exceptions import ConnectionError as EndOfConnection  # noqa: PLC0415

        try:
            return not self._connection.can_read()
        except (EndOfConnection, OSError):
            return False

    def close(self) -> None:
        self._connection.disconnect()

    def execute(self, *command: str | bytes | int, timeout: float | None = None) -> Any:
        """Return the reply to a command, for which it waits `timeout` seconds, or its own."""
        self._connection.send_command(*command)
        return self._connection.read_response(**({} if timeout is None else {"timeout": timeout}))

    def pipeline(self, calls: Iterable[tuple[T, Command]]) -> Iterator[tuple[T, Any]]:
        """Pipeline commands; yield the subject of each with its reply, or the `ResponseError`.

        Raises:
            RedisError, OSError: the connection broke; the remaining calls have no reply.
        """
        from redis.exceptions import ResponseError  # noqa: PLC0415 - only its own function carries it

        subjects: list[T] = []
        refused: OSError | None = None
        try:
            for subject, command in calls:
                subjects.append(subject)
                for data in self._connection.pack_command(*command):
                    self._connection.line.sendall(data)
        except (ConnectionError, ssl.SSLError) as error:  # its replies may say why: they come first
            refused = error
        for subject in subjects:
            try:
                reply: Any = self._connection.read_response()
            except ResponseError as error:
                reply = error
            yield subject, reply
        if refused:
            raise refused


def login(settings: RedisSettings) -> dict[str, str | None]:
    """Return user and password; with `auth = iam` a new token of ElastiCache or MemoryDB.

    Source: "Authenticating with IAM" of ElastiCache's and of MemoryDB's documentation. The
    signature covers the name of the cache, not its address.

    Raises:
        NotAuthorized: the token cannot be signed.
    """
    if settings.by_iam:
        parts = settings.iam_parts
        query = {"Action": "connect", "User": settings.user}
        if parts["type"].startswith("serverless"):
            query["ResourceType"] = "ServerlessCache"
        token = iam_login.token(parts["service"], parts["region"], parts["name"], query)
        return {"username": settings.user, "password": token.text.reveal()}
    # MinIO sends the user only together with a password.
    user = (settings.user or None) if settings.password else None
    return {"username": user, "password": settings.password.reveal() or None}


def _connection_class(settings: RedisSettings, timeout: float) -> Any:
    """Return a class that connects as all targets do; redis-py's also takes TLS from files only."""
    from redis import Connection  # noqa: PLC0415

    context = tls.context(settings) if settings.tls else None

    class Connected(Connection):
        def _connect(self) -> socket.socket:
            deadline = time.monotonic() + CONNECT_SECONDS
            line = connecting.connect(self.host, self.port, deadline)
            try:
                if context is not None:
                    line = connecting.encrypt(line, context, self.host)
            except BaseException:
                line.close()
                raise
            line.settimeout(timeout)
            self.line = line
            return line

    return Connected
