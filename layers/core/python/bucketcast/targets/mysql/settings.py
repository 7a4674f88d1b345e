"""The options of `notify_mysql`, and the login: `dsn_string`, or the keys that MinIO had before."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from bucketcast.errors import NotAuthorized
from bucketcast.settings.options import REFERENCE, Secret, option
from bucketcast.targets.base import iam, options, rds
from bucketcast.targets.mysql.address import FORM, LAST_PORT, PORT, Dsn, DsnError, parse
from bucketcast.targets.mysql.names import Names

EXAMPLE = "user:password@tcp(localhost:3306)/minio_events"
_OLDER = ("host", "port", "username", "password", "database")


@dataclass(frozen=True, kw_only=True)
class MysqlSettings(options.Common, options.Tls, rds.RdsLogin):
    """MinIO's `notify_mysql`."""

    dsn_string: Secret = option(
        "the login, as a data source name of Go's MySQL driver",
        default="",
        example=EXAMPLE,
    )
    table: str = option(
        "the table to write to; created if it does not exist", example="bucketevents"
    )
    format: Literal["namespace", "access"] = option(
        "namespace: a row per object, as a mirror; access: a row per event",
        default="namespace",
    )
    max_open_connections: int = option(
        "maximum number of connections, one per running instance of the function; 0: no limit",
        default="2",
    )
    host: str = option("deprecated: the server, if there is no dsn_string", default="")
    port: int = option("deprecated: its port, 3306 by default", default="")
    username: str = option("deprecated: the user", default="")
    password: Secret = option("deprecated: the password of username", default="")
    database: str = option("deprecated: the database", default="")

    def validation_errors(self) -> Iterator[options.ValidationError]:
        text = self.dsn_string.reveal()
        if text and not text.startswith(REFERENCE):
            try:
                parse(text)
            except DsnError as error:
                yield "dsn_string", "found ***", f"allowed is {FORM}: {error}"
        elif not text and not self.host:
            yield "dsn_string", "missing", f"a secret is needed, for example {EXAMPLE}"
        elif not text and not self.username and not self.by_iam:
            yield "username", "missing", "needed beside host; or say all of it in dsn_string"
        if isinstance(self.port, int) and not 1 <= self.port <= LAST_PORT:  # else a reference
            yield "port", f"found {self.port}", f"allowed is 1 to {LAST_PORT}"
        try:
            Names.of(self.table, self.format)
        except ValueError as error:
            yield "table", f"found {self.table!r}", str(error)
        yield from options.tls_errors(self, idle=())
        yield from iam.errors(self, passwords=["password"])

    def notes(self) -> Iterator[str]:
        older = [key for key in _OLDER if getattr(self, key)]
        if older and not self.by_iam:  # which leaves nothing to hide in a string
            beside = ", beside which they do nothing" if self.dsn_string else ""
            yield (
                f"{', '.join(older)}: deprecated, use dsn_string for all of the login, such as "
                f"{EXAMPLE}{beside}"
            )


def dsn(settings: MysqlSettings) -> Dsn:
    """Return what the settings say.

    Raises:
        NotAuthorized: dsn_string cannot be read.
    """
    if not settings.dsn_string:
        return Dsn(
            user=settings.username or (settings.iam_user if settings.by_iam else ""),
            password=settings.password.reveal(),
            host=settings.host.removeprefix("[").removesuffix("]"),
            port=settings.port or PORT,
            database=settings.database,
        )
    try:
        found = parse(settings.dsn_string.reveal())
    except DsnError as error:
        raise NotAuthorized(f"dsn_string is not {FORM}: {error}") from None
    if settings.by_iam:
        rds.check_alone("dsn_string", found.password)
    return found


def where(settings: MysqlSettings) -> str:
    """`host:port/database`, without user and password."""
    try:
        return dsn(settings).where
    except NotAuthorized as error:
        return f"({error})"
