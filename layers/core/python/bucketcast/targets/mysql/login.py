"""Who logs in where: `dsn_string`, or in its absence the keys that MinIO had before it."""

from collections.abc import Iterator
from typing import Protocol

from bucketcast.errors import NotAuthorized
from bucketcast.options import REFERENCE, Secret
from bucketcast.targets.mysql.dsn import FORM, LAST_PORT, PORT, Dsn, DsnError, parse

EXAMPLE = "user:password@tcp(localhost:3306)/minio_events"
_OLDER = ("host", "port", "username", "password", "database")


class Given(Protocol):
    """The target's options that are about the login."""

    @property
    def dsn_string(self) -> Secret: ...
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


def dsn(given: Given) -> Dsn:
    """What the settings say.

    Raises:
        NotAuthorized: dsn_string cannot be read.
    """
    if not given.dsn_string:
        return Dsn(
            user=given.username,
            password=given.password.reveal(),
            host=given.host.removeprefix("[").removesuffix("]"),
            port=given.port or PORT,
            database=given.database,
        )
    try:
        return parse(given.dsn_string.reveal())
    except DsnError as error:
        raise NotAuthorized(f"dsn_string is not {FORM}: {error}") from None


def where(given: Given) -> str:
    """`host:port/database`, without user and password."""
    try:
        return dsn(given).where
    except NotAuthorized as error:
        return f"({error})"


def mistakes(given: Given) -> Iterator[tuple[str, str, str]]:
    """What is wrong with a login, as `Target.check` says it."""
    text = given.dsn_string.reveal()
    if text and not text.startswith(REFERENCE):
        try:
            parse(text)
        except DsnError as error:
            yield "dsn_string", "found ***", f"allowed is {FORM}: {error}"
    elif not text and not given.host:
        yield "dsn_string", "missing", f"a secret is needed, for example {EXAMPLE}"
    elif not text and not given.username:
        yield "username", "missing", "needed beside host; or say all of it in dsn_string"
    if isinstance(given.port, int) and not 1 <= given.port <= LAST_PORT:  # else a reference
        yield "port", f"found {given.port}", f"allowed is 1 to {LAST_PORT}"


def notes(given: Given) -> Iterator[str]:
    """What whoever gave a login should know."""
    if older := [key for key in _OLDER if getattr(given, key)]:
        beside = ", beside which they do nothing" if given.dsn_string else ""
        yield (
            f"{', '.join(older)}: deprecated, use dsn_string for all of the login, such as "
            f"{EXAMPLE}{beside}"
        )
