"""Logins by IAM to RDS, Aurora and RDS Proxy, of MySQL and of PostgreSQL.

Source: "IAM database authentication for MariaDB, MySQL, and PostgreSQL" of RDS' user guide.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from bucketcast.aws import iam_login
from bucketcast.errors import NotAuthorized
from bucketcast.settings.options import option
from bucketcast.targets.base.iam import AUTH_HELP, Auth, IamLogin, Right, arn_pattern

EXAMPLE: Final = "arn:aws:rds-db:eu-west-1:111122223333:dbuser:db-ABCDEFGHIJKL01234/bucketcast"


@dataclass(frozen=True, kw_only=True)
class RdsLogin(IamLogin):
    """A login by IAM as one user of one database."""

    auth: Auth = option(AUTH_HELP, default="password")
    iam_resource: str = option(
        "with auth = iam, the ARN of the database user: dbuser, and the resource id (not the name) "
        "of the instance, cluster or proxy",
        default="",
        example=EXAMPLE,
    )
    iam_pattern: ClassVar[re.Pattern[str]] = arn_pattern(
        "rds-db", r"dbuser:(?P<database>(?:db|cluster|prx)-[A-Za-z0-9]+)/(?P<user>[^/*?\s]+)"
    )
    iam_example: ClassVar[str] = EXAMPLE

    def iam_rights(self) -> Sequence[Right]:
        return [Right(["rds-db:connect"], [self.iam_resource])]

    @property
    def iam_user(self) -> str:
        """The database user that `iam_resource` names."""
        return self.iam_parts["user"]


def check_alone(key: str, found: str | None) -> None:
    """See that a login, which may come from a secret, holds no password beside the role's.

    Raises:
        NotAuthorized: it does, in the option `key`.
    """
    if found:
        raise NotAuthorized(f"{key} holds a password beside auth = iam: leave one of them out")


def password(settings: RdsLogin, host: str, port: int, user: str) -> str:
    """Return a token that logs the user in at `host:port`, RDS's own name for the server.

    Raises:
        NotAuthorized: it cannot be made, or `user` is not who the role may log in as.
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
