"""The options of `notify_mysql`, and the login: `dsn_string`, or MinIO's deprecated keys."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from bucketcast.settings.options import option
from bucketcast.settings.types import Secret
from bucketcast.targets.base import database, options
from bucketcast.targets.base.database import Database
from bucketcast.targets.mysql.address import FORM, PORT, Dsn, parse
from bucketcast.targets.mysql.names import Names


@dataclass(frozen=True, kw_only=True)
class MysqlSettings(options.Common, options.Tls, Database):
    """MinIO's `notify_mysql`."""

    dsn_string: Secret = option(
        "the login, as a data source name of Go's MySQL driver",
        default="",
        example="user:password@tcp(localhost:3306)/minio_events",
    )
    login_key: ClassVar[str] = "dsn_string"
    login_wins: ClassVar[str] = ", beside which they do nothing"

    notes = Database.login_notes

    def validation_errors(self) -> Iterator[options.ValidationError]:
        yield from self.login_errors()
        yield from options.secret_errors(self, "dsn_string", parse, f"allowed is {FORM}:")
        try:
            Names.of(self.table, self.format)
        except ValueError as error:
            yield "table", f"found {self.table!r}", str(error)


def dsn(settings: MysqlSettings) -> Dsn:
    """Return the login of the settings.

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
    parsed = options.parsed(settings, "dsn_string", parse, f"allowed is {FORM}:")
    if settings.by_iam:
        database.check_no_password("dsn_string", parsed.password)
    return parsed
