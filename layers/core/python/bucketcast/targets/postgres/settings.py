"""The options of `notify_postgres`, and the login that they make."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from bucketcast.errors import NotAuthorized
from bucketcast.settings.options import option
from bucketcast.settings.types import Secret
from bucketcast.targets.base import database, options
from bucketcast.targets.base.database import Database
from bucketcast.targets.postgres.address import NAMES, Login, LoginError, parse
from bucketcast.targets.postgres.address import login as login_of

GUARD = "_guard"
EXAMPLE = '"host=localhost port=5432 dbname=minio_events user=postgres password=… sslmode=disable"'
_MAX_NAME = 63  # bytes; PostgreSQL cuts longer names
_NAME = re.compile(r'"([^"\0]+)"|([^\W\d][\w$]*)')


@dataclass(frozen=True, kw_only=True)
class PostgresSettings(options.Common, options.Tls, Database):
    """MinIO's `notify_postgres`."""

    connection_string: Secret = option(
        "the login, as a list name=value or a URL; sslmode is require by default, "
        "and a local server without TLS needs sslmode=disable",
        default="",
        example=EXAMPLE,
    )
    login_key: ClassVar[str] = "connection_string"
    login_wins: ClassVar[str] = ", which wins where both say the same"

    notes = Database.login_notes

    def validation_errors(self) -> Iterator[options.ValidationError]:
        yield from self.login_errors()
        yield from options.secret_errors(
            self, "connection_string", self._check, "allowed is lib/pq's:"
        )
        match = _NAME.fullmatch(self.table)
        guard = GUARD if self.format == "namespace" else ""
        max_bytes = _MAX_NAME - len(guard)
        if not match:
            allowed = 'letters, digits, _ and $ after a letter or _, or any text in "quotes"'
            yield "table", f"found {self.table!r}", f"allowed are {allowed}"
        elif len((match[1] or match[2]).encode()) > max_bytes:
            limit = f" (PostgreSQL's {_MAX_NAME} less those of {guard})" if guard else ""
            yield "table", f"found {self.table!r}", f"at most {max_bytes} bytes{limit}"

    def _check(self, string: str) -> None:
        """Check what is known before a deploy.

        Raises:
            LoginError: it cannot be used.
        """
        parameters = _deprecated(self) | parse(string)
        if self.by_iam or any(map(options.is_reference, parameters.values())):
            return
        login_of(parameters)


def login(settings: PostgresSettings) -> Login:
    """Return the login; deprecated keys supply the parameters that connection_string lacks.

    Raises:
        NotAuthorized: it is malformed or empty.
    """
    try:
        parameters = _deprecated(settings) | parse(settings.connection_string.reveal())
        if settings.by_iam:
            _check_iam(parameters)
            parameters = {"user": settings.iam_user, **parameters, "sslmode": "verify-full"}
        if parameters:
            return login_of(parameters)
    except LoginError as error:
        raise NotAuthorized(f"connection_string: {error}") from None
    raise NotAuthorized(f"connection_string is empty: it is the login, such as {EXAMPLE}")


def _deprecated(settings: PostgresSettings) -> dict[str, str]:
    """Return the parameters in MinIO's deprecated keys."""
    keys = database.DEPRECATED_KEYS
    texts = {NAMES.get(key, key): _to_text(getattr(settings, key)) for key in keys}
    texts["host"] = texts["host"].removeprefix("[").removesuffix("]")
    return {name: text for name, text in texts.items() if text}


def _check_iam(parameters: Mapping[str, str]) -> None:
    database.check_no_password("connection_string", parameters.get("password"))
    host = parameters.get("host", "")
    if not host or "," in host + parameters.get("port", ""):
        raise NotAuthorized("auth = iam signs the name of one host, with one port")


def _to_text(value: str | int | Secret | None) -> str:
    if isinstance(value, Secret):
        return value.reveal()
    return "" if value is None else str(value)
