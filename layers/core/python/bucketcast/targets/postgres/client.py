"""A connection to PostgreSQL: its TLS, time-outs and statements."""

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ssl import SSLContext, SSLSocket
from typing import TYPE_CHECKING, Any

from bucketcast.errors import NotConnected
from bucketcast.targets import base
from bucketcast.targets.base import connecting, database, options, tls
from bucketcast.targets.base.sockets import LibraryConnection
from bucketcast.targets.postgres.address import Binding, Login
from bucketcast.targets.postgres.answers import ANSWERS
from bucketcast.targets.postgres.settings import PostgresSettings

if TYPE_CHECKING:
    from pg8000.core import CoreConnection

_SSL_REQUEST = struct.pack("!ii", 8, 80_877_103)
_PLUS = b"-PLUS\0"
"""Ends the name of a SCRAM mechanism that binds."""
_WITHOUT_HASH = ("ed25519", "ed448")
"""The signatures of certificates that PostgreSQL finds no hash for, which a login is bound to."""
_NOT_POSTGRES = (KeyError, IndexError, MemoryError, ValueError, struct.error)
"""What pg8000 raises for the answers of another protocol."""


def connect(login: Login, settings: PostgresSettings) -> "Client":
    """Connect to the first server that can be used.

    Raises:
        DeliveryError: there is none; the reason is that of the last.
    """
    failure = NotConnected("there is no server")
    seconds = base.CONNECT_SECONDS / len(login.servers)
    for server in login.servers:
        try:
            client = Client(login, server, settings, seconds)
        except NotConnected as error:
            failure = error
            continue
        if not client.takes_writes:
            client.close()
            failure = NotConnected("no server of connection_string takes writes")
            continue
        return client
    raise failure


class Client(LibraryConnection):
    """A connection on which each statement is a transaction of its own, if it does not begin one.

    Its methods raise `pg8000.Error`.
    """

    def __init__(
        self, login: Login, server: tuple[str, int], settings: PostgresSettings, seconds: float
    ) -> None:
        """Connect.

        Raises:
            DeliveryError: the server cannot be used.
        """
        host, port = server
        password = database.password(settings, host, port, login.user) if settings.by_iam else ""
        context = tls_context(login, settings)
        with _explain(server):
            line = connecting.connect(host, port, time.monotonic() + seconds)
        super().__init__(line)
        try:
            with _explain(server), self.close_after(seconds):
                if context:
                    upgrade(line)
                    line = connecting.encrypt(line, context, host)
                line.settimeout(None)
                self._client = _log_in(login, password or login.password, line)
                self.takes_writes = not (login.read_write and self._is_read_only())
        except BaseException:
            line.close()
            self._line.close()
            raise

    def query(self, statement: str, *values: Any) -> list[list[Any]]:
        """Return the rows of one statement with the parameters $1, $2, …."""
        return self._client.execute_unnamed(statement, values).rows or []

    def execute(self, statements: str) -> int:
        """Execute statements without parameters; return the number of rows that they concern."""
        return int(self._client.execute_simple(statements).row_count)

    def rollback(self) -> None:
        self.execute("rollback")

    def copy(self, statements: str, parts: Iterator[bytes]) -> None:
        """Execute statements that end with a COPY FROM STDIN of these parts, in one message.

        If `parts` raises an error, the connection cannot be used any more.
        """
        from pg8000 import DatabaseError  # noqa: PLC0415 - carried by functions that deliver
        from pg8000.core import Context  # noqa: PLC0415

        copying = False

        def sent() -> Iterator[bytes]:
            nonlocal copying
            copying = True
            yield from parts

        context = Context(statements, stream=sent())
        self._client.send_QUERY(statements)
        self._client._sock.flush()  # noqa: SLF001 - it sends no more than the buffer otherwise
        with suppress(DatabaseError):
            self._client.handle_messages(context)
        if copying:  # pg8000 ends it with a Sync, which has an answer of its own
            self._client.handle_messages(Context(statements))
        if context.error:
            raise context.error

    def _is_read_only(self) -> bool:
        return self.query("show transaction_read_only") == [["on"]]


def _log_in(login: Login, password: str, line: socket.socket) -> "CoreConnection":
    session = dict(login.session)
    return _connection_class(login.binding)(
        login.user,
        database=login.database,
        password=password,
        sock=line,
        ssl_context=False,
        application_name=session.pop("application_name", "bucketcast"),
        startup_params={**session, "client_encoding": "UTF8"},
    )


def _connection_class(binding: Binding) -> type["CoreConnection"]:
    """Return a class that binds logins by SCRAM to the server's certificate as `channel_binding`.

    With "prefer" a certificate that no login can be bound to is no error, as it is in pg8000.
    """
    from asn1crypto.x509 import Certificate  # noqa: PLC0415 - carried by functions that deliver
    from pg8000 import InterfaceError  # noqa: PLC0415
    from pg8000.core import CoreConnection  # noqa: PLC0415

    class Bound(CoreConnection):  # type: ignore[misc]
        _is_bound = False
        _usock: Any

        def handle_AUTHENTICATION_REQUEST(self, data: bytes, context: Any) -> None:  # noqa: N802
            line = self._usock
            if _PLUS in data and isinstance(line, SSLSocket) and binding != "disable":
                certificate = Certificate.load(line.getpeercert(binary_form=True))
                signature = certificate["signature_algorithm"]["algorithm"].native
                self._is_bound = signature not in _WITHOUT_HASH
            if binding == "require" and not self._is_bound:
                raise InterfaceError("channel_binding=require, but this login would be without it")
            self._usock = line if self._is_bound else None
            try:
                super().handle_AUTHENTICATION_REQUEST(data, context)
            finally:
                self._usock = line

    return Bound


@contextmanager
def _explain(server: tuple[str, int]) -> Iterator[None]:
    """Translate the errors of a login.

    Raises:
        DeliveryError: the body failed.
    """
    from pg8000 import Error  # noqa: PLC0415
    from scramp import ScramException  # noqa: PLC0415

    try:
        yield
    except (Error, ScramException, OSError, *_NOT_POSTGRES) as error:
        raise ANSWERS.of(error, str(base.Endpoint(*server)), connecting=True) from None


def tls_context(login: Login, settings: options.Tls) -> SSLContext | None:
    """Return the TLS context; None without TLS. A configured authority is never ignored."""
    mode = login.mode
    # Without an authority of its own verify-ca would accept any server.
    if bool(settings.cert_authority) != (mode == "verify-ca"):
        mode = "verify-full"
    if mode == "disable":
        return None
    context = tls.context(settings, skip_verify=mode == "require")
    context.check_hostname = mode == "verify-full"
    return context


def upgrade(line: socket.socket) -> None:
    """Request TLS.

    Raises:
        OSError: the server offers none.
    """
    line.sendall(_SSL_REQUEST)
    if line.recv(1) != b"S":
        raise OSError("the server offers no TLS")
