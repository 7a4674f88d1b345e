"""A connection to PostgreSQL: its libpq options and time-outs."""

import os
import select
import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING

from bucketcast.errors import NotAuthorized
from bucketcast.targets import base
from bucketcast.targets.base import database, options, sockets, tls
from bucketcast.targets.postgres.settings import PostgresSettings, servers

if TYPE_CHECKING:
    import psycopg

DEFAULTS = MappingProxyType(
    {
        "application_name": "bucketcast",
        "connect_timeout": f"{base.CONNECT_SECONDS:.0f}",
        "keepalives_idle": "15",
        "keepalives_interval": "5",
        "keepalives_count": "3",
        "tcp_user_timeout": "20000",
    }
)
"""libpq's options that a connection string may override."""


_ENCRYPTED = ("require", "verify-ca", "verify-full")
_SSL_REQUEST = struct.pack("!ii", 8, 80_877_103)


def connect(parameters: Mapping[str, str], settings: PostgresSettings) -> "psycopg.Connection":
    """Connect with libpq's parameters, in autocommit mode.

    Raises:
        NotAuthorized: the IAM login cannot be signed.
        psycopg.Error: see `errors.delivery_error`.
    """
    import psycopg  # noqa: PLC0415 - carried by functions that deliver

    options = {name: value for name, value in DEFAULTS.items() if name not in parameters}
    if settings.by_iam:
        options["password"] = _token(parameters, settings)
        options["require_auth"] = "password"
    mode = _mode(parameters, settings)
    if mode == "verify-full" and not settings.cert_authority and "sslrootcert" not in parameters:
        options["sslrootcert"] = "system"
    pems = {
        "sslrootcert": settings.cert_authority,
        "sslcert": settings.client_cert,
        "sslkey": settings.client_key.reveal(),
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


def _token(parameters: Mapping[str, str], settings: PostgresSettings) -> str:
    host, port = parameters.get("host", ""), parameters.get("port", "5432")
    if not host or "," in host or not port.isdecimal():
        raise NotAuthorized("auth = iam signs the name of one host, with one port")
    return database.password(settings, host, int(port), parameters["user"])


def endpoints(parameters: Mapping[str, str], settings: options.Tls) -> list[base.Endpoint]:
    """Return the servers of libpq's parameters, without Unix sockets."""
    mode = _mode(parameters, settings)
    context = None
    # Only libpq itself can check parameters such as a file of authorities.
    if mode in _ENCRYPTED and "sslrootcert" not in parameters:
        context = tls.context(settings, skip_verify=mode == "require")
        context.check_hostname = mode == "verify-full"
    return [
        base.Endpoint(host, int(port) if port.isdecimal() else 5432, context, _upgrade)
        for host, port in servers(parameters)
        if not host.startswith("/")
    ]


def _upgrade(line: socket.socket) -> None:
    line.sendall(_SSL_REQUEST)
    if line.recv(1) != b"S":
        raise OSError("the server offers no TLS")


def _mode(parameters: Mapping[str, str], settings: options.Tls) -> str:
    """Return libpq's sslmode; a configured authority is never ignored."""
    mode = parameters.get("sslmode", "require")
    return "verify-full" if settings.cert_authority and mode != "verify-ca" else mode


def has_ended(connection: "psycopg.Connection") -> bool:
    """Return True if the server closed the connection: only then is there input between queries."""
    return connection.closed or bool(select.select([connection.fileno()], [], [], 0)[0])


@contextmanager
def close_if_silent(connection: "psycopg.Connection", seconds: float) -> Iterator[None]:
    """Close the connection if the server is silent for `seconds`: libpq would wait forever."""
    with (
        socket.socket(fileno=os.dup(connection.fileno())) as duplicate,
        sockets.close_after(seconds, duplicate),
    ):
        yield
