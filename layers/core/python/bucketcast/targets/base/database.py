"""The options of a database: its table, its login, and IAM logins to RDS, Aurora and RDS Proxy.

Source: "IAM database authentication for MariaDB, MySQL, and PostgreSQL" of RDS' user guide.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from bucketcast.aws import iam_login
from bucketcast.errors import NotAuthorized
from bucketcast.settings.options import Limits, option
from bucketcast.settings.types import Secret
from bucketcast.targets.base import iam, options

LAST_PORT: Final = 65_535
ROW: Final = "alter the column, constraint, policy or trigger of the table that refuses it"
OTHER_INDEX: Final = "drop the table's other unique index"
OTHER_TABLE: Final = "the table, or the guard beside it, is not as the target makes it"
FULL: Final = "lower max_open_connections, or let the server take more"
DEPRECATED_KEYS: Final = ("host", "port", "username", "password", "database")
"""The keys of a login that MinIO deprecated in favour of a single string."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Database(iam.IamLogin):
    """A table, and a login to its database: one string, or IAM for one user."""

    table: str = option(
        "the table to write to; created if it does not exist", example="bucketevents"
    )
    format: Literal["namespace", "access"] = option(
        "namespace: a row per object, as a mirror; access: a row per event",
        default="namespace",
    )
    max_open_connections: int = option(
        "maximum number of connections, one per instance of the function; 0: no limit",
        default="2",
    )
    host: str = option("deprecated: the server", default="")
    port: int = option("deprecated: its port", default="", limits=Limits("1", f"{LAST_PORT}"))
    username: str = option("deprecated: the user", default="")
    password: Secret = option("deprecated: the password of username", default="")
    database: str = option("deprecated: the database", default="")
    auth: iam.Auth = option(iam.AUTH_HELP, default="password")
    iam_resource: str = option(
        "with auth = iam, the ARN of the database user, with the resource id, not the name",
        default="",
        example="arn:aws:rds-db:eu-west-1:111122223333:dbuser:db-ABCDEFGHIJKL01234/bucketcast",
    )
    login_key: ClassVar[str]
    """The option that holds the whole login."""
    login_wins: ClassVar[str]
    """The effect of the deprecated keys beside it."""
    iam_pattern: ClassVar[re.Pattern[str]] = iam.arn_pattern(
        "rds-db", r"dbuser:(?P<database>(?:db|cluster|prx)-[A-Za-z0-9]+)/(?P<user>[^/*?\s]+)"
    )

    def login_errors(self) -> Iterator[options.ValidationError]:
        """Yield the errors in combinations of this class's options."""
        key = self.login_key
        example = options.example_of(self, key)
        if not getattr(self, key) and not self.host:
            yield key, "missing", f"a secret is needed, for example {example}"
        elif not getattr(self, key) and not self.username and not self.by_iam:
            yield "username", "missing", f"needed beside host; or say all of it in {key}"
        yield from options.tls_errors(self, tls_only=())
        yield from iam.errors(self, passwords=["password"])

    def login_notes(self) -> Iterator[str]:
        """Yield a note if deprecated keys are used."""
        example = options.example_of(self, self.login_key)
        deprecated = [key for key in DEPRECATED_KEYS if getattr(self, key)]
        if deprecated and not self.by_iam:  # an IAM login has no secret that needs the string
            beside = self.login_wins if getattr(self, self.login_key) else ""
            yield (
                f"{', '.join(deprecated)}: deprecated, use {self.login_key} for all of the login, "
                f"such as {example}{beside}"
            )

    def iam_rights(self) -> Sequence[iam.Right]:
        return [iam.Right(["rds-db:connect"], [self.iam_resource])]

    @property
    def iam_user(self) -> str:
        """The database user that `iam_resource` names."""
        return self.iam_parts["user"]


def check_no_password(key: str, secret: str | None) -> None:
    """Check that an IAM login has no password, which may have come from a secret.

    Raises:
        NotAuthorized: the option `key` has one.
    """
    if secret:
        raise NotAuthorized(f"{key} holds a password beside auth = iam: leave one of them out")


def password(settings: Database, host: str, port: int, user: str) -> str:
    """Return a token that logs the user in at `host:port`, RDS's own name for the server.

    Raises:
        NotAuthorized: it cannot be signed, or the role may not log in as `user`.
    """
    if settings.iam_user != user:
        raise NotAuthorized(
            f"the login's user is not the one of iam_resource, {settings.iam_user}: "
            "leave it out, or name the same"
        )
    query = {"Action": "connect", "DBUser": user}
    return iam_login.token(
        "rds-db", settings.iam_parts["region"], f"{host}:{port}", query
    ).text.reveal()
