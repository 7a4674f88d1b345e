r"""The login of the PostgreSQL target: `connection_string`, which MinIO passes to Go's lib/pq.

It is a list `name=value …`, in which a value with spaces is in single quotes and `\` escapes a
character, or a URL `postgresql://user:password@host:port/database?name=value&…`. As with lib/pq,
a name that is none of ours is a setting of the session: the server knows it, or refuses it by name.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args
from urllib.parse import unquote

from bucketcast.targets.base.database import LAST_PORT

Mode = Literal["require", "disable", "verify-ca", "verify-full"]
Binding = Literal["prefer", "require", "disable"]
Servers = Literal["any", "read-write"]
PORT: Final = 5432
NAMES: Final = {"username": "user", "database": "dbname"}
"""The names that only MinIO's guide uses, and lib/pq's."""
_REFUSED: Final = {
    "client_encoding": "it is always UTF8",
    "hostaddr": "use host",
    "krbspn": "log in with a password or a certificate",
    "krbsrvname": "log in with a password or a certificate",
    "passfile": "use password",
    "replication": "a target needs SQL",
    "service": "write its parameters here",
    "sslcert": "use the option client_cert",
    "sslinline": "use the options cert_authority, client_cert and client_key",
    "sslkey": "use the option client_key",
    "sslpassword": "the option client_key is not encrypted",
    "sslrootcert": "use the option cert_authority; without it, the system's CAs count",
}
_WITHOUT_EFFECT: Final = (
    *("binary_parameters", "connect_timeout", "disable_prepared_binary_result", "sslsni"),
)
"""Parameters of lib/pq about reading rows, or about what the target decides itself."""
_url = re.compile(
    r"postgres(?:ql)?://(?:([^:@/?]*)(?::([^@/?]*))?@)?([^@/?]*)(?:/([^?]*))?(?:\?(.*))?", re.DOTALL
)
_pair = re.compile(
    r"\s*([^\s=]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?!')(?:[^\s\\]|\\.)*))\s*", re.DOTALL
)
_server = re.compile(r"(?:\[([^\]]*)\]|([^:]*))(?::([0-9]*))?")


class LoginError(ValueError):
    """An error in a login; its text contains no values but those of known words."""


@dataclass(frozen=True, kw_only=True)
class Login:
    """Servers, login and parameters; `session` has the settings that are sent to the server."""

    servers: tuple[tuple[str, int], ...]
    user: str
    database: str
    password: str = field(repr=False)
    mode: Mode
    binding: Binding
    """Whether a login by SCRAM is bound to the certificate of the server."""
    read_write: bool
    """Whether a server that takes no writes is passed over."""
    session: Mapping[str, str]

    @property
    def where(self) -> str:
        """`host:port/database` without the login; several servers are separated by commas."""
        addresses = ",".join(f"{host}:{port}" for host, port in self.servers)
        return f"{addresses}/{self.database}"


def login(parameters: Mapping[str, str]) -> Login:
    """Return the login that these parameters describe.

    Raises:
        LoginError: a parameter is missing, malformed or not supported.
    """
    session = dict(parameters)
    for name in sorted(session.keys() & _REFUSED.keys()):
        raise LoginError(f"{name} is not supported: {_REFUSED[name]}")
    for name in _WITHOUT_EFFECT:
        session.pop(name, None)
    if name := session.pop("fallback_application_name", ""):
        session.setdefault("application_name", name)
    user = session.pop("user", "")
    if not user:
        raise LoginError("user is missing")
    return Login(
        servers=tuple(_servers(session.pop("host", ""), session.pop("port", ""))),
        user=user,
        database=session.pop("dbname", "") or user,
        password=session.pop("password", ""),
        mode=_take_word(session, "sslmode", Mode),
        binding=_take_word(session, "channel_binding", Binding),
        read_write=_take_word(session, "target_session_attrs", Servers) == "read-write",
        session=session,
    )


def parse(string: str) -> dict[str, str]:
    """Return the parameters of a connection string.

    Raises:
        LoginError: it is malformed.
    """
    if not string.startswith(("postgres://", "postgresql://")):
        return {NAMES.get(name, name): value for name, value in _pairs(string)}
    if not (match := _url.fullmatch(string)):
        raise LoginError("the URL is malformed: what is special in it needs %XX")
    user, password, address, database, query = (part or "" for part in match.groups())
    hosts, ports = _split(address)
    named = {"user": user, "password": password, "host": hosts, "port": ports, "dbname": database}
    parameters = {name: unquote(value) for name, value in named.items() if value}
    for part in filter(None, query.split("&")):
        name, _, value = part.partition("=")
        parameters[unquote(name)] = unquote(value)
    return parameters


def _pairs(string: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(string.rstrip()):
        if not (match := _pair.match(string, position)):
            raise LoginError("it is no list of name=value: values with spaces need 'quotes'")
        position = match.end()
        yield match[1], re.sub(r"\\(.)", r"\1", match[2] or match[3] or "", flags=re.DOTALL)


def _split(address: str) -> tuple[str, str]:
    """Return the hosts of a URL and their ports, as the parameters `host` and `port` have them."""
    servers = [_server.fullmatch(server) for server in address.split(",")]
    if not all(servers):
        raise LoginError("an address in the URL is not host:port, IPv6 being [::1]:5432")
    found = [match for match in servers if match]
    hosts = ",".join(match[1] or match[2] or "" for match in found)
    ports = ",".join(match[3] or "" for match in found)
    return hosts, ports.strip(",") and ports


def _servers(hosts: str, ports: str) -> Iterator[tuple[str, int]]:
    names, numbers = hosts.split(","), ports.split(",")
    if len(numbers) == 1:
        numbers *= len(names)
    if len(numbers) != len(names):
        raise LoginError(f"port has {len(numbers)} values for {len(names)} hosts")
    for name, number in zip(names, numbers, strict=True):
        if name.startswith("/"):
            raise LoginError("host is a socket of this machine: use a host name")
        if number and not (number.isdecimal() and 0 < int(number) <= LAST_PORT):
            raise LoginError(f"port is not a number from 1 to {LAST_PORT}")
        yield name or "localhost", int(number or PORT)


def _take_word(parameters: dict[str, str], name: str, words: Any) -> Any:
    """Take a parameter with one of these words, of which the first is the default."""
    allowed = get_args(words)
    value = parameters.pop(name, allowed[0])
    if value not in allowed:
        raise LoginError(f"{name}: found {value!r}, allowed are {', '.join(allowed)}")
    return value
