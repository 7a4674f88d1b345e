"""The option `url`: the broker's address, the virtual host and the login."""

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

from bucketcast.settings.types import Secret
from bucketcast.targets.base import Endpoint

PORTS = {"amqp": 5672, "amqps": 5671}


@dataclass(frozen=True, slots=True)
class Address:
    """A broker, a virtual host and a login; if `external`, the client certificate is the login."""

    host: str
    port: int
    vhost: str
    user: str
    password: Secret
    encrypted: bool
    external: bool

    def __str__(self) -> str:
        vhost = "" if self.vhost == "/" else f" virtual host {self.vhost}"
        return f"{Endpoint(self.host, self.port)}{vhost}"

    @property
    def sasl_login(self) -> tuple[str, str]:
        """The SASL mechanism and its response."""
        if self.external:
            return "EXTERNAL", ""
        return "PLAIN", f"\0{self.user}\0{self.password.reveal()}"


def parse(url: str) -> Address:
    """Parse `amqp://user:password@host:port/vhost`; omitted parts get AMQP's defaults.

    Raises:
        ValueError: the URL is not allowed; the message says what is, and shows none of the URL.
    """
    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname:
        raise ValueError("an amqp:// or amqps:// URL with a host")
    parameters = parse_qs(parts.query, keep_blank_values=True)
    mechanism = parameters.pop("auth_mechanism", ["plain"])[-1].lower()
    if parameters or parts.fragment or mechanism not in ("plain", "external"):
        raise ValueError(
            "a URL without query, or with ?auth_mechanism=external: time-outs and heartbeats are "
            "the target's own, certificates go into cert_authority, client_cert and client_key"
        )
    has_login = parts.username is not None
    return Address(
        host=parts.hostname,
        port=parts.port or PORTS[parts.scheme],
        vhost=unquote(parts.path[1:]) or "/",
        user=unquote(parts.username or "") if has_login else "guest",
        password=Secret(unquote(parts.password or "") if has_login else "guest"),
        encrypted=parts.scheme == "amqps",
        external=mechanism == "external",
    )
