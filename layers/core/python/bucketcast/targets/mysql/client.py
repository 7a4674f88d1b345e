"""A connection to MySQL or MariaDB: its session, TLS, time-outs and statements."""

import socket
import ssl
import struct
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bucketcast.targets import base
from bucketcast.targets.base import connecting, database, tls
from bucketcast.targets.base.sockets import DeadlineSocket, LibraryConnection
from bucketcast.targets.base.tables import LOCK_SECONDS
from bucketcast.targets.mysql.address import Dsn
from bucketcast.targets.mysql.settings import MysqlSettings

if TYPE_CHECKING:
    import pymysql

# The statements rely on these: `\` escapes in a literal, a value that is too long is an error, only
# commit and rollback end a transaction, and one that waited for a lock sees the other's rows.
_SESSION = (
    "SET sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00',"
    f" autocommit = 0, innodb_lock_wait_timeout = {LOCK_SECONDS}, lock_wait_timeout = 10"
)
_CLEARTEXT_PLUGINS = (b"mysql_clear_password", b"dialog")
_ISOLATION = b"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
_HEADER_BYTES = 4
_CAN_SSL, _CAN_PROTOCOL_41, _CAN_SECURE_CONNECTION = 0x0800, 0x0200, 0x8000
_UTF8MB4 = 45
_ERROR_PACKET = b"\xff"


class Client(LibraryConnection):
    """A connection with time-outs; `packet` is the maximum length of a statement in bytes."""

    def __init__(self, dsn: Dsn, settings: MysqlSettings, timeout: float) -> None:
        """Connect.

        Raises:
            NotAuthorized: the IAM login cannot be signed.
            NotConnected: a certificate cannot be used.
            OSError: the server cannot be reached.
            pymysql.MySQLError: see `answers`.
        """
        context = tls_context(dsn, settings)
        if settings.by_iam:
            token = database.password(settings, dsn.host, dsn.port, dsn.user)
            dsn = replace(dsn, password=token, cleartext=True)
        seconds = min(dsn.timeout or base.CONNECT_SECONDS, base.CONNECT_SECONDS)
        line = connecting.connect(dsn.host, dsn.port, time.monotonic() + seconds)
        super().__init__(line)
        try:
            with self.close_after(min(seconds, timeout)):
                self._client = _new_connection(dsn, context)
                self._client.connect(line)
                self.execute([_ISOLATION])
                ((max_packet,),) = self.query(b"SELECT @@max_allowed_packet")
        except BaseException:
            line.close()
            self._line.close()
            raise
        self.packet = int(max_packet)

    def query(self, statement: bytes) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""
        with self._client.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def execute(self, statements: Iterable[bytes]) -> None:
        """Execute statements that return no rows."""
        for statement in statements:
            self._client.query(statement)

    def change(self, statement: bytes) -> int:
        """Execute a statement, and commit; return the number of changed rows."""
        changed = int(self._client.query(statement))
        self.commit()
        return changed

    def commit(self) -> None:
        self._client.commit()

    def rollback(self) -> None:
        self._client.rollback()


def _new_connection(dsn: Dsn, context: ssl.SSLContext | None) -> "pymysql.Connection":
    """Return pymysql's connection, not connected yet."""
    import pymysql  # noqa: PLC0415 - carried by functions that deliver

    return pymysql.Connection(
        host=connecting.without_dot(dsn.host),
        user=dsn.user,
        password=dsn.password.encode(),
        database=dsn.database or None,
        charset="utf8mb4",
        collation="utf8mb4_bin",
        autocommit=None,
        init_command=_SESSION,
        read_timeout=dsn.read_timeout or None,
        write_timeout=dsn.write_timeout or None,
        program_name="bucketcast",
        ssl=context,
        ssl_disabled=dsn.tls == "false" and context is None,
        auth_plugin_map={} if dsn.cleartext else dict.fromkeys(_CLEARTEXT_PLUGINS, _NoCleartext),
        defer_connect=True,
    )


class _NoCleartext:
    """A login plugin that refuses to send the password in clear text."""

    def __init__(self, _: "pymysql.Connection") -> None:
        pass

    def authenticate(self, _: Any) -> None:
        from pymysql import OperationalError  # noqa: PLC0415

        raise OperationalError(
            2059,
            "the server asks for the password in clear text, which allowCleartextPasswords=true "
            "in dsn_string allows",
        )


def tls_context(dsn: Dsn, settings: MysqlSettings) -> ssl.SSLContext | None:
    """Return the TLS context; None without TLS. Configured certificates are never ignored."""
    if settings.by_iam:
        skip_verify = False  # only a verified server may see the token
    elif settings.cert_authority or settings.client_cert:
        skip_verify = dsn.tls in ("skip-verify", "preferred") and not settings.cert_authority
    elif dsn.tls in ("true", "skip-verify"):
        skip_verify = dsn.tls == "skip-verify"
    else:
        return None
    return tls.context(settings, skip_verify=skip_verify)


def upgrade(line: socket.socket) -> None:
    """Read the server's greeting, and request TLS.

    Raises:
        OSError: it is not a MySQL server, or offers no TLS.
    """
    plain, deadline = DeadlineSocket(line), time.monotonic() + base.CONNECT_SECONDS
    size = int.from_bytes(plain.receive_exactly(_HEADER_BYTES, deadline)[:3], "little")
    greeting = plain.receive_exactly(size, deadline)
    if greeting.startswith(_ERROR_PACKET):
        raise OSError(greeting[3:].decode(errors="replace"))
    # After the version's name: the connection's id, 8 bytes of the salt and a zero.
    position = greeting.find(b"\0", 1) + 1 + 4 + 8 + 1
    capabilities = int.from_bytes(greeting[position : position + 2], "little")
    if not capabilities & _CAN_SSL:
        raise OSError("the server offers no TLS")
    flags = _CAN_SSL | _CAN_PROTOCOL_41 | _CAN_SECURE_CONNECTION
    body = struct.pack("<IIB23x", flags, 1 << 24, _UTF8MB4)
    line.sendall(len(body).to_bytes(3, "little") + b"\x01" + body)
