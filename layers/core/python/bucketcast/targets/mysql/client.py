"""A connection to MySQL or MariaDB: how it is made, when to give it up, what is said over it."""

import os
import select
import socket
import ssl
import struct
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bucketcast.errors import NotAuthorized, NotConnected, TimedOut
from bucketcast.targets import base
from bucketcast.targets.base import database, iam, sockets, tls
from bucketcast.targets.mysql.address import Dsn
from bucketcast.targets.mysql.errors import number
from bucketcast.targets.mysql.settings import MysqlSettings

if TYPE_CHECKING:
    import pymysql

# What is said relies on these: `\` has its meaning in a literal, what is too long is an error, a
# transaction ends when it is told to, and one that waits for a lock sees what that one wrote.
_SESSION = (
    "SET sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00',"
    " autocommit = 0, innodb_lock_wait_timeout = 10, lock_wait_timeout = 10"
)
_ACCESS_DENIED = 1045
_HUNG_UP = (2006, 2013)
_IN_CLEAR_TEXT = (b"mysql_clear_password", b"dialog")
_ISOLATION = b"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"


class Client:
    """A connection that nobody waits on for ever.

    `packet` is how many bytes a statement may have.
    """

    def __init__(self, dsn: Dsn, settings: MysqlSettings, timeout: float) -> None:
        """Connect.

        Raises:
            NotAuthorized: the login by IAM cannot be signed.
            NotConnected: nobody is there, or a certificate cannot be used.
            pymysql.MySQLError: see `errors.translated`.
        """
        context = tls_context(dsn, settings)
        if settings.by_iam:
            token = database.password(settings, dsn.host, dsn.port, dsn.user)
            dsn = replace(dsn, password=token, cleartext=True)
        seconds = min(dsn.timeout or base.CONNECT_SECONDS, base.CONNECT_SECONDS)
        line = _line(dsn, seconds)
        # Another hold on the line: the client keeps its own to itself, and exchanges it for TLS.
        self._line = socket.socket(fileno=os.dup(line.fileno()))
        try:
            with self.watched(min(seconds, timeout)), _login_explained(dsn, settings):
                self._client = _client(dsn, context)
                self._client.connect(line)
                self.say([_ISOLATION])
                ((most,),) = self.ask(b"SELECT @@max_allowed_packet")
        except BaseException:
            line.close()
            self._line.close()
            raise
        self.packet = min(int(most), dsn.packet or int(most))

    def ask(self, statement: bytes) -> list[tuple[Any, ...]]:
        """Return the rows that a statement answers."""
        with self._client.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def say(self, statements: Iterable[bytes]) -> None:
        """Statements that answer nothing."""
        for each in statements:
            self._client.query(each)

    def change(self, statement: bytes) -> int:
        """Run a statement, and commit; return how many rows it changed."""
        changed = int(self._client.query(statement))
        self.commit()
        return changed

    def commit(self) -> None:
        self._client.commit()

    def rollback(self) -> None:
        self._client.rollback()

    @property
    def has_ended(self) -> bool:
        """Return whether the server hung up since the last use: only then does it send unasked."""
        return bool(select.select([self._line], [], [], 0)[0])

    def watched(self, timeout: float) -> AbstractContextManager[None]:
        """Hang up on a server that is not done after so many seconds."""
        return sockets.close_after(timeout, self._line)

    def close(self) -> None:
        """End it; a server that is gone or silent is not waited for."""
        self._line.settimeout(0)  # of both holds, as it is the same line
        with suppress(Exception):
            self._client.close()
        self._line.close()


def _line(dsn: Dsn, seconds: float) -> socket.socket:
    try:
        line = socket.create_connection((dsn.host, dsn.port), seconds)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except (OSError, UnicodeError) as error:
        kind = TimedOut if isinstance(error, TimeoutError) else NotConnected
        raise kind(f"cannot reach {dsn.where}: {error}") from None
    return line


@contextmanager
def _login_explained(dsn: Dsn, settings: MysqlSettings) -> Iterator[None]:
    """Say what the client does not know of a login that failed."""
    try:
        yield
    except (IndexError, TypeError, ValueError, struct.error) as error:
        raise NotConnected(f"what answers at {dsn.where} is no MySQL: {error}") from None
    except Exception as error:
        if settings.by_iam and number(error) == _ACCESS_DENIED:
            raise NotAuthorized.hinted(str(error.args[-1]), iam.HINT) from None
        if settings.client_cert and number(error) in _HUNG_UP:
            # TLS 1.3 tells a client only after its certificate was refused, if at all.
            raise NotConnected(
                f"{error.args[-1]}: does the server trust the authority of client_cert?"
            ) from None
        raise


def _client(dsn: Dsn, context: ssl.SSLContext | None) -> "pymysql.Connection":
    """Return the client's connection, yet without a line."""
    import pymysql  # noqa: PLC0415 - only who delivers carries the client

    return pymysql.Connection(
        host=dsn.host,
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
        auth_plugin_map={} if dsn.cleartext else dict.fromkeys(_IN_CLEAR_TEXT, _Refusal),
        defer_connect=True,
    )


class _Refusal:
    """A way to log in that would show the password to whoever answers there."""

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
    """Return how the server is verified; None for not at all. A certificate is never ignored."""
    if settings.by_iam:
        skips = False  # the token is shown to whoever the certificate says it is, and nobody else
    elif settings.cert_authority or settings.client_cert:
        skips = dsn.tls in ("skip-verify", "preferred") and not settings.cert_authority
    elif dsn.tls in ("true", "skip-verify"):
        skips = dsn.tls == "skip-verify"
    else:
        return None
    return tls.context(settings, skip_verify=skips)
