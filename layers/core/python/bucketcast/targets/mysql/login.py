"""Who logs in where: `dsn_string`, or in its absence the keys that MinIO had before it."""

from typing import TYPE_CHECKING

from bucketcast.errors import NotAuthorized
from bucketcast.options import REFERENCE
from bucketcast.targets.mysql.dsn import FORM, LAST_PORT, Dsn, DsnError, parse

if TYPE_CHECKING:
    from bucketcast.targets.mysql import MysqlSettings

_OLD = ("host", "username", "password", "database")


def dsn(given: "MysqlSettings") -> Dsn:
    """What the settings say.

    Raises:
        NotAuthorized: dsn_string cannot be read.
    """
    if not given.dsn_string:
        return Dsn(
            user=given.username,
            password=given.password.reveal(),
            host=given.host,
            port=given.port,
            database=given.database,
        )
    try:
        return parse(given.dsn_string.reveal())
    except DsnError as error:
        raise NotAuthorized(f"dsn_string is not {FORM}: {error}") from None


def where(given: "MysqlSettings") -> str:
    """The place, without the login."""
    try:
        return dsn(given).where
    except NotAuthorized as error:
        return f"({error})"


def mistakes(given: "MysqlSettings") -> list[tuple[str, str, str]]:
    """What cannot be, as `Target.check` says it."""
    if given.dsn_string:
        text = given.dsn_string.reveal()
        try:
            if not text.startswith(REFERENCE):
                parse(text)
        except DsnError as error:
            return [("dsn_string", "found ***", f"allowed is {FORM}, but {error}")]
        return []
    if not any(getattr(given, key) for key in _OLD):
        return [("dsn_string", "missing", f"a login is needed, as {FORM}")]
    wrong = [
        (key, "missing", "it is needed where dsn_string is empty")
        for key in ("host", "username")
        if not getattr(given, key)
    ]
    if not 0 < given.port <= LAST_PORT:
        wrong.append(("port", f"found {given.port}", f"allowed is 1 to {LAST_PORT}"))
    return wrong


def notes(given: "MysqlSettings") -> list[str]:
    """What whoever still uses the old keys should know."""
    said = ", ".join(key for key in _OLD if getattr(given, key))
    if not said:
        return []
    if given.dsn_string:
        return [f"MySQL's deprecated {said} do nothing beside dsn_string"]
    return [f"MySQL's {said} are deprecated: use dsn_string, {FORM}"]
