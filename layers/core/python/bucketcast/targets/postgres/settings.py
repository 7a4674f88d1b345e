"""The options of `notify_postgres`, and the login as libpq's parameters."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from bucketcast.errors import NotAuthorized
from bucketcast.settings.options import option
from bucketcast.settings.types import Secret
from bucketcast.targets.base import database, options
from bucketcast.targets.base.database import Database

GUARD = "_guard"
LIBPQ_NAMES = {
    "host": "host",
    "port": "port",
    "username": "user",
    "password": "password",
    "database": "dbname",
}
"""MinIO's deprecated keys, and libpq's names for them."""
EXAMPLE = '"host=localhost port=5432 dbname=minio_events user=postgres password=… sslmode=disable"'
_URLS = ("postgres://", "postgresql://")
_pairs = re.compile(r"(\w+)(\s*=\s*(?:'(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)*))")
_MAX_NAME = 63  # bytes; PostgreSQL cuts longer names
_NAME = re.compile(r'"([^"\0]+)"|([^\W\d][\w$]*)')


@dataclass(frozen=True, kw_only=True)
class PostgresSettings(options.Common, options.Tls, Database):
    """MinIO's `notify_postgres`."""

    connection_string: Secret = option(
        "the login, as libpq's key=value list or URL; sslmode is require by default, "
        "and a local server without TLS needs sslmode=disable",
        default="",
        example=EXAMPLE,
    )
    login_key: ClassVar[str] = "connection_string"
    login_example: ClassVar[str] = EXAMPLE
    login_wins: ClassVar[str] = ", which wins where both say the same"

    def notes(self) -> Iterator[str]:
        return self.login_notes()

    def validation_errors(self) -> Iterator[options.ValidationError]:
        yield from self.login_errors()
        match = _NAME.fullmatch(self.table)
        guard = GUARD if self.format == "namespace" else ""
        max_bytes = _MAX_NAME - len(guard)
        if not match:
            allowed = 'letters, digits, _ and $ after a letter or _, or any text in "quotes"'
            yield "table", f"found {self.table!r}", f"allowed are {allowed}"
        elif len((match[1] or match[2]).encode()) > max_bytes:
            limit = f" (PostgreSQL's {_MAX_NAME} less those of {guard})" if guard else ""
            yield "table", f"found {self.table!r}", f"at most {max_bytes} bytes{limit}"


def parameters(settings: PostgresSettings) -> dict[str, str]:
    """Return libpq's parameters; deprecated keys supply those that connection_string lacks.

    Raises:
        NotAuthorized: there are none, or the string is malformed. libpq's message is left out: it
            repeats parts of the string.
    """
    from psycopg import ProgrammingError  # noqa: PLC0415 - carried by functions that deliver
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    deprecated = {name: _to_text(getattr(settings, key)) for key, name in LIBPQ_NAMES.items()}
    deprecated["host"] = deprecated["host"].removeprefix("[").removesuffix("]")
    try:
        given = conninfo_to_dict(_with_libpq_names(settings.connection_string.reveal()))
    except ProgrammingError:
        raise NotAuthorized(
            "connection_string is neither a key=value list nor a postgresql:// URL: values with "
            "spaces need 'quotes', and what is special in a URL needs %XX"
        ) from None
    parameters = {name: text for name, text in deprecated.items() if text}
    parameters |= {name: str(text) for name, text in given.items()}
    if not parameters:
        raise NotAuthorized(f"connection_string is empty: it is the login, such as {EXAMPLE}")
    if settings.by_iam:
        database.check_no_password("connection_string", parameters.get("password"))
        parameters = {"user": settings.iam_user, **parameters, "sslmode": "verify-full"}
    return parameters


def servers(parameters: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Return hosts and ports of libpq's parameters."""
    hosts = (parameters.get("host") or parameters.get("hostaddr") or "localhost").split(",")
    ports = (parameters.get("port") or "5432").split(",")
    ports *= len(hosts) if len(ports) == 1 else 1
    return zip(hosts, ports, strict=False)


def where(settings: PostgresSettings) -> str:
    """Return `host:port/database`, without user and password."""
    try:
        parameters_ = parameters(settings)
    except NotAuthorized as error:
        return f"({error})"
    addresses = ",".join(f"{host}:{port}" for host, port in servers(parameters_))
    return f"{addresses}/{parameters_.get('dbname') or parameters_.get('user') or ''}"


def _to_text(value: str | int | Secret | None) -> str:
    if isinstance(value, Secret):
        return value.reveal()
    return "" if value is None else str(value)


def _with_libpq_names(string: str) -> str:
    """Return the string with libpq's names: MinIO's guide also uses `username` and `database`."""
    if string.startswith(_URLS):
        return string
    return _pairs.sub(lambda pair: LIBPQ_NAMES.get(pair[1], pair[1]) + pair[2], string)
