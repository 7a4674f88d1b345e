"""The login, as libpq reads it: the connection string, filled up by MinIO's older keys."""

import re
from collections.abc import Iterator
from typing import Protocol

from bucketcast.errors import NotAuthorized
from bucketcast.options import Secret

OLDER = {
    "host": "host",
    "port": "port",
    "username": "user",
    "password": "password",
    "database": "dbname",
}
"""MinIO's deprecated keys, and what libpq calls them."""
EXAMPLE = '"host=localhost port=5432 dbname=minio_events user=postgres password=…"'
_LAST_PORT = 65_535
_URLS = ("postgres://", "postgresql://")
_pairs = re.compile(r"(\w+)(\s*=\s*(?:'(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)*))")


class Given(Protocol):
    """The target's options that are about the login."""

    @property
    def connection_string(self) -> Secret: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int | None: ...
    @property
    def username(self) -> str: ...
    @property
    def password(self) -> Secret: ...
    @property
    def database(self) -> str: ...


def mistakes(given: Given) -> Iterator[tuple[str, str, str]]:
    """What is wrong with a login, as `Target.check` says it."""
    if not given.connection_string:
        if not given.host:
            yield "connection_string", "missing", f"a secret is needed, for example {EXAMPLE}"
        elif not given.username:
            yield "username", "missing", "needed beside host; or say all of it in connection_string"
    if isinstance(given.port, int) and not 1 <= given.port <= _LAST_PORT:  # else a reference
        yield "port", f"found {given.port}", f"allowed is 1 to {_LAST_PORT}"


def notes(given: Given) -> Iterator[str]:
    """What whoever gave a login should know."""
    if older := [key for key in OLDER if getattr(given, key)]:
        beside = ", which wins where both say the same" if given.connection_string else ""
        yield (
            f"{', '.join(older)}: deprecated, use connection_string for all of the login, such as "
            f"{EXAMPLE}{beside}"
        )


def parameters(given: Given) -> dict[str, str]:
    """The parameters for libpq: what the connection string does not say, the older keys do.

    Raises:
        NotAuthorized: nothing is given, or the string cannot be read. libpq's words are left out:
            they repeat parts of it.
    """
    from psycopg import ProgrammingError  # noqa: PLC0415 - only who delivers carries the client
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    older = {name: _text(getattr(given, key)) for key, name in OLDER.items()}
    older["host"] = older["host"].removeprefix("[").removesuffix("]")
    try:
        said = conninfo_to_dict(_as_libpq(given.connection_string.reveal()))
    except ProgrammingError:
        raise NotAuthorized(
            "connection_string is neither a key=value list nor a postgresql:// URL: values with "
            "spaces need 'quotes', and what is special in a URL needs %XX"
        ) from None
    found = {name: text for name, text in older.items() if text}
    found |= {name: str(text) for name, text in said.items()}
    if not found:
        raise NotAuthorized(f"connection_string is empty: it is the login, such as {EXAMPLE}")
    return found


def where(given: Given) -> str:
    """`host:port/database`, without user and password."""
    try:
        found = parameters(given)
    except NotAuthorized as error:
        return f"({error})"
    hosts = (found.get("host") or found.get("hostaddr") or "localhost").split(",")
    ports = (found.get("port") or "5432").split(",")
    ports *= len(hosts) if len(ports) == 1 else 1
    servers = ",".join(f"{host}:{port}" for host, port in zip(hosts, ports, strict=False))
    return f"{servers}/{found.get('dbname') or found.get('user') or ''}"


def _text(value: str | int | Secret | None) -> str:
    if isinstance(value, Secret):
        return value.reveal()
    return "" if value is None else str(value)


def _as_libpq(string: str) -> str:
    """The string with libpq's names: MinIO's guide also says `username` and `database`."""
    if string.startswith(_URLS):
        return string
    return _pairs.sub(lambda pair: OLDER.get(pair[1], pair[1]) + pair[2], string)
