"""The login of the MySQL target: a data source name of Go's driver, as in MinIO's `dsn_string`.

`user:password@protocol(address)/database?parameter=value&…`: the last `/` ends the address, the
last `@` before it the login, the first `:` in that the user, so that a password may hold all of
them unescaped. The database's name and the values are percent-encoded.

Source: the README and the documented behaviour of go-sql-driver/mysql 1.9.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal
from urllib.parse import unquote, unquote_plus

from bucketcast.errors import did_you_mean
from bucketcast.settings.options import duration
from bucketcast.targets.base.database import LAST_PORT

FORM = "user:password@tcp(host:port)/database?parameter=value"
PORT = 3306
_SOCKET = "/tmp/mysql.sock"  # noqa: S108 - the driver's own default
_HARMLESS = frozenset(
    {
        "allowAllFiles",  # no file is ever loaded
        "allowFallbackToPlaintext",  # see _tls
        "checkConnLiveness",  # always, as it costs nothing
        "clientFoundRows",  # no count of rows is read
        "columnsWithAlias",
        "interpolateParams",  # statements are sent as text anyway
        "multiStatements",  # each is sent alone
        "parseTime",  # no time is read
        "rejectReadOnly",  # always: another connection may find the writer
        "tinyInt1IsBool",
    }
)
_ONLY = MappingProxyType(
    {
        "allowNativePasswords": (True, "the login is by the plugin that the server asks for"),
        "allowOldPasswords": (False, "passwords from before MySQL 4.1 are not safe"),
        "compress": (False, "the client speaks no compressed protocol"),
    }
)
"""The only value that goes, and why."""
_REFUSED = MappingProxyType(
    {
        "serverPubKey": "it names a key in a Go program; tls=true protects the password instead",
        "strict": "it is no parameter any more; the target always sets a strict sql_mode",
    }
)
_NAMED = frozenset(
    {
        *("allowCleartextPasswords", "charset", "collation", "connectionAttributes", "loc"),
        *("maxAllowedPacket", "readTimeout", "timeTruncate", "timeout", "tls", "writeTimeout"),
    }
)
_PARAMETERS = _HARMLESS | _ONLY.keys() | _REFUSED.keys() | _NAMED
_OWN = re.compile(
    r"(?:sql_mode|time_zone|autocommit|tx_isolation|transaction_isolation|names"
    r"|character_set_\w+|collation_\w+)",
    re.IGNORECASE,
)
"""Session variables that what the target says to the server relies on."""
_VARIABLE = re.compile(r"[A-Za-z_][\w.]*")
_VALUE = re.compile(r"""[\w.+-]+|'[^'\\]*'|"[^"\\]*\"""")
_BOOLEANS = MappingProxyType(
    {"1": True, "true": True, "TRUE": True, "True": True}
    | {"0": False, "false": False, "FALSE": False, "False": False}
)


class DsnError(ValueError):
    """What is wrong with a DSN, in words that repeat nothing of its login."""


@dataclass(frozen=True, kw_only=True)
class Dsn:
    """Where to, who, and how. Times are in seconds, 0 where the DSN says nothing.

    `packet` is the largest statement in bytes, 0 for as much as the server takes; `variables` are
    names and values as they stand in SQL.
    """

    user: str
    password: str = field(repr=False)
    host: str = "127.0.0.1"
    port: int = PORT
    socket: str = ""
    database: str = ""
    tls: Literal["false", "true", "skip-verify", "preferred"] = "false"
    cleartext: bool = False
    timeout: float = 0.0
    read_timeout: float = 0.0
    write_timeout: float = 0.0
    packet: int = 0
    program: str = "bucketcast"
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def where(self) -> str:
        """`host:port/database`, without the login."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.socket or f'{host}:{self.port}'}/{self.database}"


def parse(text: str) -> Dsn:
    """Read a DSN.

    Raises:
        DsnError: it cannot be read, or holds what does not go here.
    """
    left, slash, right = text.rpartition("/")
    if not slash:
        raise DsnError("the / before the database's name is missing")
    login, _, location = left.rpartition("@")
    user, _, password = login.partition(":")
    address = _address(location)
    if not user:
        raise DsnError("the user before : and @ is missing")
    database, _, query = right.partition("?")
    parameters = _parameters(query)
    return Dsn(
        user=user,
        password=password,
        host=address[0],
        port=address[1],
        socket=address[2],
        database=_unescaped(database, unquote, "the database's name"),
        tls=_tls(parameters),
        cleartext=_boolean(parameters, "allowCleartextPasswords"),
        timeout=_seconds(parameters, "timeout"),
        read_timeout=_seconds(parameters, "readTimeout"),
        write_timeout=_seconds(parameters, "writeTimeout"),
        packet=_number(parameters, "maxAllowedPacket"),
        program=_program(parameters),
        variables=_variables(parameters),
    )


def _address(location: str) -> tuple[str, int, str]:
    """Host, port and path of the socket from `protocol(address)`, all or a part of it left out."""
    protocol, bracket, rest = location.partition("(")
    if bracket and not rest.endswith(")"):
        if ")" in rest:
            raise DsnError("a / in a parameter's value is written %2F")
        raise DsnError("the ) after the address is missing")
    if protocol not in ("", "tcp", "unix"):
        raise DsnError("the address is neither tcp(host:port) nor unix(/path)")
    address = rest[:-1]
    if protocol == "unix":
        return "localhost", PORT, address or _SOCKET
    return *_host_and_port(address), ""


def _host_and_port(address: str) -> tuple[str, int]:
    if address.count(":") > 1 and not address.startswith("["):
        return address, PORT  # an IPv6 address alone
    found = re.fullmatch(
        r"(?:\[([0-9A-Fa-f:.%\w]+)\]|([^\s:\[\]()@/]*))(?::([0-9]{1,5}))?", address
    )
    if not found or not 0 < int(found[3] or PORT) <= LAST_PORT:
        raise DsnError("the address in tcp(…) is not host:port, IPv6 being [::1]:3306")
    return found[1] or found[2] or "127.0.0.1", int(found[3] or PORT)


def _parameters(query: str) -> dict[str, str]:
    """Name → value as it stands, of those that may be there.

    Raises:
        DsnError: one does not go here.
    """
    pairs = (each.partition("=") for each in query.split("&") if "=" in each)
    found = {name: value for name, _, value in pairs}
    by_lower = {each.lower(): each for each in _PARAMETERS}
    for name in found:
        if name not in _PARAMETERS and name.lower() in by_lower:
            raise DsnError(f"an unknown parameter: {did_you_mean(name, _PARAMETERS).strip()}")
        if name in _REFUSED:
            raise DsnError(f"{name} does not go here: {_REFUSED[name]}")
        if name in _HARMLESS:
            _boolean(found, name)
        if name in _ONLY and _boolean(found, name) is not _ONLY[name][0]:
            only, why = _ONLY[name]
            raise DsnError(f"{name} is always {str(only).lower()} here: {why}")
    _text(found, "charset", r"(?:utf8|utf8mb3|utf8mb4)(?:,\w+)*", "utf8mb4, which it always is")
    _text(found, "collation", r"utf8\w*", "one of utf8mb4; all is compared by bytes anyway")
    _text(found, "loc", r"UTC", "UTC, the time zone of event_time")
    _seconds(found, "timeTruncate")
    return found


def _text(found: Mapping[str, str], name: str, form: str, allowed: str) -> None:
    if name in found and not re.fullmatch(form, found[name]):
        raise DsnError(f"{name} allows only {allowed}")


def _boolean(found: Mapping[str, str], name: str) -> bool:
    text = found.get(name, "false")
    if text not in _BOOLEANS:
        raise DsnError(f"{name} is true or false")
    return _BOOLEANS[text]


def _seconds(found: Mapping[str, str], name: str) -> float:
    try:
        return duration(found.get(name, "0"))
    except ValueError as error:
        raise DsnError(f"{name} is {error}") from None


def _number(found: Mapping[str, str], name: str) -> int:
    text = found.get(name, "0")
    if not re.fullmatch(r"[0-9]{1,10}", text):
        raise DsnError(f"{name} is a number of bytes, or 0 for the server's own")
    return int(text)


def _tls(found: Mapping[str, str]) -> Literal["false", "true", "skip-verify", "preferred"]:
    text = found.get("tls", "false")
    falls_back = _boolean(found, "allowFallbackToPlaintext")
    if text in _BOOLEANS:
        if _BOOLEANS[text] and falls_back:
            raise DsnError(
                "a connection that is verified cannot fall back to plain text: without "
                "allowFallbackToPlaintext it is verified, tls=preferred is neither"
            )
        return "true" if _BOOLEANS[text] else "false"
    if text.lower() == "preferred" or (text.lower() == "skip-verify" and falls_back):
        return "preferred"
    if text.lower() == "skip-verify":
        return "skip-verify"
    raise DsnError(
        "tls is true, false, skip-verify or preferred; other names are of a Go program, whose "
        "place cert_authority, client_cert and client_key take"
    )


def _program(found: Mapping[str, str]) -> str:
    text = _unescaped(found.get("connectionAttributes", ""), unquote_plus, "connectionAttributes")
    pairs = dict(each.strip().partition(":")[::2] for each in text.split(",") if each.strip())
    if pairs.keys() - {"program_name"}:
        raise DsnError("connectionAttributes allows only program_name:NAME")
    return pairs.get("program_name") or "bucketcast"


def _variables(found: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the system variables for the session: all that is no parameter of the driver."""
    variables = []
    for name in found.keys() - _PARAMETERS:
        value = _unescaped(found[name], unquote_plus, "a system variable's value")
        if not _VARIABLE.fullmatch(name):
            raise DsnError("what stands between ? or & and = is no parameter and no variable")
        if _OWN.fullmatch(name):
            raise DsnError(f"{name} is set by the target itself")
        if not _VALUE.fullmatch(value):
            raise DsnError(f"{name} is a system variable: a number, a word or text in %27quotes%27")
        variables.append((name, value))
    return tuple(sorted(variables))


def _unescaped(text: str, unescape: Callable[..., str], what: str) -> str:
    wrong = DsnError(f"{what} is not percent-encoded: a % itself is %25")
    if re.search("%(?![0-9A-Fa-f]{2})", text):
        raise wrong
    try:
        return unescape(text, errors="strict")
    except UnicodeDecodeError:
        raise wrong from None
