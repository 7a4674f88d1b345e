"""The login of the MySQL target: `dsn_string`, which MinIO passes to Go's MySQL driver.

`user:password@tcp(host:port)/database?parameter=value&…`: the last `/` ends the address, the last
`@` before it the login, the first `:` in that the user, so that a password may hold all of them
unescaped. The database's name is percent-encoded.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, cast, get_args
from urllib.parse import unquote

from bucketcast.errors import did_you_mean
from bucketcast.settings.types import duration
from bucketcast.targets.base import Endpoint
from bucketcast.targets.base.database import LAST_PORT

Tls = Literal["false", "true", "skip-verify", "preferred"]
FORM = "user:password@tcp(host:port)/database?parameter=value"
PORT = 3306
_PARAMETERS: Final = ("tls", "timeout", "readTimeout", "writeTimeout", "allowCleartextPasswords")
_WITHOUT_EFFECT: Final = (
    *("allowAllFiles", "allowNativePasswords", "charset", "checkConnLiveness", "clientFoundRows"),
    *("collation", "columnsWithAlias", "compress", "connectionAttributes", "interpolateParams"),
    *("loc", "maxAllowedPacket", "multiStatements", "parseTime", "rejectReadOnly"),
    *("timeTruncate", "tinyInt1IsBool"),
)
"""Parameters of Go's driver about reading rows, or about what the target decides itself."""
_REFUSED: Final = {
    "allowFallbackToPlaintext": "use tls=preferred",
    "allowOldPasswords": "no server has such logins any more",
    "serverPubKey": "use tls=true, which needs no key of the server",
}
_BOOLEANS: Final = {
    **dict.fromkeys(("1", "true", "TRUE", "True"), "true"),
    **dict.fromkeys(("0", "false", "FALSE", "False"), "false"),
}
"""Go's words for the values of a switch."""


class DsnError(ValueError):
    """An error in a DSN; its text contains nothing of the login."""


@dataclass(frozen=True, kw_only=True)
class Dsn:
    """Address, login and parameters. Times are in seconds, 0 if the DSN has none."""

    user: str
    password: str = field(repr=False)
    host: str = "127.0.0.1"
    port: int = PORT
    database: str = ""
    tls: Tls = "false"
    cleartext: bool = False
    timeout: float = 0.0
    read_timeout: float = 0.0
    write_timeout: float = 0.0

    @property
    def where(self) -> str:
        """`host:port/database`, without the login."""
        return f"{Endpoint(self.host, self.port)}/{self.database}"


def parse(dsn: str) -> Dsn:
    """Parse a DSN.

    Raises:
        DsnError: it is malformed, or has an unknown parameter.
    """
    head, slash, tail = dsn.rpartition("/")
    if not slash:
        raise DsnError("the / before the database's name is missing")
    login, _, location = head.rpartition("@")
    user, _, password = login.partition(":")
    host, port = _address(location)
    if not user:
        raise DsnError("the user before : and @ is missing")
    database, _, query = tail.partition("?")
    parameters = _parameters(query)
    return Dsn(
        user=user,
        password=password,
        host=host,
        port=port,
        database=_unescape(database),
        tls=_tls(parameters.get("tls", "false")),
        cleartext=_cleartext(parameters.get("allowCleartextPasswords", "false")),
        timeout=_seconds(parameters, "timeout"),
        read_timeout=_seconds(parameters, "readTimeout"),
        write_timeout=_seconds(parameters, "writeTimeout"),
    )


def _address(location: str) -> tuple[str, int]:
    """Return host and port of `tcp(host:port)`."""
    address = re.fullmatch(r"tcp\((.*)\)", location)
    if not address:
        raise DsnError("the address is not tcp(host:port)")
    match = re.fullmatch(
        r"(?:\[([0-9A-Fa-f:.%\w]+)\]|([^\s:\[\]()@/]+))(?::([0-9]{1,5}))?", address[1]
    )
    if not match or not 0 < int(match[3] or PORT) <= LAST_PORT:
        raise DsnError("the address in tcp(…) is not host:port, IPv6 being [::1]:3306")
    return match[1] or match[2], int(match[3] or PORT)


def _parameters(query: str) -> dict[str, str]:
    parameters = {}
    for parameter in filter(None, query.split("&")):
        name, _, value = parameter.partition("=")
        if name in _WITHOUT_EFFECT:
            continue
        if name in _REFUSED:
            raise DsnError(f"{name} is not supported: {_REFUSED[name]}")
        if name not in _PARAMETERS:
            hint = f"{did_you_mean(name, _PARAMETERS)}allowed are {', '.join(_PARAMETERS)}"
            raise DsnError(f"unknown parameter {name}: {hint}")
        parameters[name] = value
    return parameters


def _tls(text: str) -> Tls:
    value = _BOOLEANS.get(text, text.lower())
    if value not in get_args(Tls):
        raise DsnError(
            f"tls is one of {', '.join(get_args(Tls))}; certificates are set by cert_authority, "
            "client_cert and client_key"
        )
    return cast("Tls", value)


def _cleartext(value: str) -> bool:
    if value not in _BOOLEANS:
        raise DsnError("allowCleartextPasswords is true or false")
    return _BOOLEANS[value] == "true"


def _seconds(parameters: Mapping[str, str], name: str) -> float:
    try:
        return duration(parameters.get(name, "0"))
    except ValueError as error:
        raise DsnError(f"{name} is {error}") from None


def _unescape(database: str) -> str:
    error = DsnError("the database's name is not percent-encoded: a % itself is %25")
    if re.search("%(?![0-9A-Fa-f]{2})", database):
        raise error
    try:
        return unquote(database, errors="strict")
    except UnicodeDecodeError:
        raise error from None
