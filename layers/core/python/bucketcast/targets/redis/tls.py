"""A verified connection to Redis, from certificates that are text and not files."""

import socket
import ssl
from typing import TYPE_CHECKING

from bucketcast import tls

if TYPE_CHECKING:
    import redis

CONNECT_SECONDS = 5


def encrypted(given: tls.Given, patience: float) -> type["redis.SSLConnection"]:
    """A connection with a context of our own: the client's takes files only, at each connect."""
    from redis import SSLConnection  # noqa: PLC0415

    context = tls.context(given)

    class Encrypted(SSLConnection):
        def _wrap_socket_with_ssl(self, sock: socket.socket) -> ssl.SSLSocket:
            sock.settimeout(CONNECT_SECONDS)
            encrypted = context.wrap_socket(sock, server_hostname=self.host)
            encrypted.settimeout(patience)
            return encrypted

    return Encrypted
