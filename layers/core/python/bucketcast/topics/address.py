"""The address in `push-endpoint`: `SCHEME://[USER:PASSWORD@]HOST[:PORT][/PATH]`."""

import re
from dataclasses import dataclass, field
from typing import Final

from bucketcast.state.items import ENDPOINT
from bucketcast.topics.errors import TopicError, invalid

KINDS: Final = {
    "http": "webhook",
    "https": "webhook",
    "amqp": "amqp",
    "amqps": "amqp",
    "kafka": "kafka",
}
"""The kind of target by the scheme of `push-endpoint`."""
_FORM: Final = re.compile(
    r"(?P<scheme>[A-Za-z]+)://"
    r"(?:(?P<user>[^\s:/@?#]+):(?P<password>[^\s@/?#]+)@)?"
    r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])"
    r"(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>/[!-~]*)?"
)
_LAST_PORT: Final = 65_535
ALLOWED: Final = (
    f"SCHEME://[USER:PASSWORD@]HOST[:PORT][/PATH] with one of {', '.join(KINDS)} as SCHEME"
)


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of an endpoint as written, not decoded; "" if absent."""

    scheme: str
    host: str
    port: str
    path: str
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def kind(self) -> str:
        return KINDS[self.scheme]

    @property
    def host_and_port(self) -> str:
        return f"{self.host}:{self.port}" if self.port else self.host

    @property
    def without_login(self) -> str:
        return f"{self.scheme}://{self.host_and_port}{self.path}"


def parse_address(text: str) -> Address:
    """Parse an endpoint.

    Raises:
        TopicError: the endpoint is invalid; the text leaves it out, as it may hold a password.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise TopicError("InvalidArgument", f"{ENDPOINT}: found another form; allowed is {ALLOWED}")
    parts = Address(**{**match.groupdict(""), "scheme": match["scheme"].lower()})
    if parts.scheme not in KINDS:
        raise invalid(ENDPOINT, repr(match["scheme"]), ALLOWED)
    if parts.port and not 0 < int(parts.port) <= _LAST_PORT:
        raise invalid(ENDPOINT, f"the port {parts.port}", f"1 to {_LAST_PORT}")
    return parts
