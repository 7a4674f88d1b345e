"""A connection to PostgreSQL: what libpq is told, when to give up, and what its errors mean."""

import os
import re
import select
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from types import MappingProxyType
from typing import TYPE_CHECKING

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Rejected, Retryable
from bucketcast.targets import base

if TYPE_CHECKING:
    import psycopg

DEFAULTS = MappingProxyType(
    {
        "application_name": "bucketcast",
        "connect_timeout": "5",
        "keepalives_idle": "15",
        "keepalives_interval": "5",
        "keepalives_count": "3",
        "tcp_user_timeout": "20000",
    }
)
"""What libpq is told where the connection string says nothing."""
_READ_ONLY = (
    "the server takes no writes: with all hosts and target_session_attrs=read-write in "
    "connection_string the one that does is found"
)
_OUTCOMES: Mapping[str, tuple[type[DeliveryError], str]] = MappingProxyType(
    {
        "08": (NotConnected, ""),
        "22": (Rejected, ""),
        "23": (Rejected, ""),
        "25006": (NotConnected, _READ_ONLY),
        "25P03": (NotConnected, ""),
        "28": (NotAuthorized, ""),
        "3D": (Retryable, "make the database, or name another in connection_string"),
        "3F": (Retryable, "make the schema, or set search_path in connection_string's options"),
        "42": (Retryable, "the table, or the guard beside it, is not as the target makes it"),
        "42501": (Retryable, "grant it to the user of connection_string"),
        "42601": (Retryable, 'put the table\'s name in "quotes" if it is a word of SQL'),
        "53300": (NotConnected, "lower max_open_connections, or let the server take more"),
        "54": (Rejected, ""),
        "57": (NotConnected, ""),
        "57014": (Retryable, "the server is overloaded, or somebody holds a lock for long"),
    }
)
"""What a SQLSTATE, or its class, means here, and its cure; all others are `Retryable`."""
_about_login = re.compile(
    r"authentication|password|pg_hba|role .+ does not exist|client certificate"
).search


def connect(parameters: Mapping[str, str], tls: base.Tls) -> "psycopg.Connection":
    """Connect with libpq's parameters; each statement is its own transaction unless it says so.

    Raises:
        psycopg.Error: see `translated`.
    """
    import psycopg  # noqa: PLC0415 - only who delivers carries the client

    options = {name: value for name, value in DEFAULTS.items() if name not in parameters}
    mode = parameters.get("sslmode", "require")
    if tls.cert_authority and mode != "verify-ca":
        mode = "verify-full"
    elif mode == "verify-full" and "sslrootcert" not in parameters:
        options["sslrootcert"] = "system"
    pems = {
        "sslrootcert": tls.cert_authority,
        "sslcert": tls.client_cert,
        "sslkey": tls.client_key.reveal(),
    }
    with TemporaryDirectory(prefix="bucketcast-") as folder:  # mode 0700; read while connecting
        for name, pem in pems.items():
            if pem:
                file = Path(folder, name)
                file.touch(mode=0o600)  # libpq refuses a key that others could read
                file.write_text(pem)
                options[name] = str(file)
        return psycopg.connect(
            **{**parameters, **options, "sslmode": mode},  # type: ignore[arg-type]  # all text
            client_encoding="utf8",
            autocommit=True,
            prepare_threshold=None,
        )


def has_ended(connection: "psycopg.Connection") -> bool:
    """Whether the server hung up since the last use: it says nothing unasked but good-bye."""
    return connection.closed or bool(select.select([connection.fileno()], [], [], 0)[0])


@contextmanager
def watched(connection: "psycopg.Connection", patience: float) -> Iterator[None]:
    """Hang up on a server that goes silent for so many seconds: libpq would wait for ever."""
    line = socket.socket(fileno=os.dup(connection.fileno()))

    def hang_up() -> None:
        with suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)

    timer = Timer(patience, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        line.close()


def translated(error: "psycopg.Error") -> DeliveryError:
    """What an error of the client means; libpq gives no SQLSTATE to one while connecting."""
    code = error.sqlstate
    text = " ".join((error.diag.message_primary or str(error)).split())
    if not code:
        if " alert " in text:  # by which TLS refuses a client's certificate
            return NotAuthorized(f"{text}: the server asks for a client_cert that it trusts")
        return NotAuthorized(text) if _about_login(text) else NotConnected(text)
    kind, cure = _OUTCOMES.get(code) or _OUTCOMES.get(code[:2]) or (Retryable, "")
    return kind(f"{text} ({code})" + (f": {cure}" if cure else ""))
