"""A verified connection to Redis, from certificates that are text and not files."""

import socket
import ssl
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol

from bucketcast.errors import NotConnected
from bucketcast.options import Secret

if TYPE_CHECKING:
    import redis

CONNECT_SECONDS = 5


class Given(Protocol):
    """The target's options that are about TLS."""

    @property
    def cert_authority(self) -> str: ...
    @property
    def client_cert(self) -> str: ...
    @property
    def client_key(self) -> Secret: ...
    @property
    def tls_skip_verify(self) -> bool: ...


def encrypted(given: Given, patience: float) -> type["redis.SSLConnection"]:
    """A connection with a context of our own: the client's takes files only, at each connect."""
    from redis import SSLConnection  # noqa: PLC0415

    context = _context(given)

    class Encrypted(SSLConnection):
        def _wrap_socket_with_ssl(self, sock: socket.socket) -> ssl.SSLSocket:
            sock.settimeout(CONNECT_SECONDS)
            encrypted = context.wrap_socket(sock, server_hostname=self.host)
            encrypted.settimeout(patience)
            return encrypted

    return Encrypted


def _context(given: Given) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=given.cert_authority or None)
        if given.cert_authority:
            # Python 3.13 refuses authorities made by hand for want of optional fields.
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if given.tls_skip_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if given.client_cert:
            with TemporaryDirectory() as folder:  # which only this user may open
                pair = Path(folder) / "pair.pem"
                pair.touch(mode=0o600)
                pair.write_text(f"{given.client_key.reveal()}\n{given.client_cert}")
                context.load_cert_chain(pair)
    except ssl.SSLError as error:
        raise NotConnected(
            f"cert_authority, client_cert or client_key cannot be used: {error}"
        ) from None
    return context
