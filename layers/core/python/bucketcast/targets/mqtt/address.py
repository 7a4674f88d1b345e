"""The broker's address, from its URL."""

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from bucketcast.settings.types import Secret
from bucketcast.targets.base import Endpoint

PORTS = {"tcp": 1883, "ssl": 8883, "tls": 8883, "tcps": 8883, "ws": 80, "wss": 443}
"""The schemes that MinIO accepts, with their default ports."""
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_ENCRYPTED = ("ssl", "tls", "tcps", "wss")


class Broker(NamedTuple):
    """A broker's address, and the login in its URL; `path` is for websockets."""

    scheme: str
    host: str
    port: int
    path: str
    username: str
    password: Secret

    @property
    def encrypted(self) -> bool:
        return self.scheme in _ENCRYPTED

    @property
    def websocket(self) -> bool:
        return self.scheme in ("ws", "wss")

    @property
    def netloc(self) -> str:
        """`host:port`, with brackets for IPv6."""
        return str(Endpoint(self.host, self.port))

    @property
    def host_header(self) -> str:
        """The header `Host`, also for signatures: without the scheme's default port."""
        default = self.port == PORTS[self.scheme]
        return self.netloc.rpartition(":")[0] if default else self.netloc

    def __repr__(self) -> str:
        return f"Broker({self})"

    def __str__(self) -> str:
        """Return the URL without its login, and without a query, which may hold a token."""
        path = self.path.partition("?")[0] if self.websocket else ""
        return f"{self.scheme}://{self.netloc}{path}"


def parse(url: str) -> Broker:
    """Parse a broker's URL.

    Raises:
        ValueError: the URL is not allowed; the message says what is, and shows none of the URL.
    """
    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname or not _VISIBLE.fullmatch(url):
        schemes = ", ".join(f"{scheme}://" for scheme in PORTS)
        raise ValueError(f"a URL in ASCII, without spaces, with a host and one of {schemes}")
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    if path != "/" and parts.scheme not in ("ws", "wss"):
        raise ValueError("a path for ws:// and wss:// only")
    return Broker(
        parts.scheme,
        parts.hostname,
        parts.port or PORTS[parts.scheme],
        path,
        unquote(parts.username or ""),
        Secret(unquote(parts.password or "")),
    )
