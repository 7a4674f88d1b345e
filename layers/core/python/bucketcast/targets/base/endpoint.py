"""The address of a server, and checks of the way there: DNS, TCP, TLS and its certificate."""

import socket
import ssl
import time
from collections.abc import Callable
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from bucketcast.targets.base import connecting, tls
from bucketcast.targets.base.connecting import ForbiddenError
from bucketcast.targets.base.options import Tls

SECONDS = 5.0
_DAY = 86_400
_CERTIFICATE_HINTS = {
    9: "wait, or issue a new one: it is not valid yet; check the server's clock too",
    10: "renew the server's certificate and load it; the waiting events are then sent",
    **dict.fromkeys(
        (2, 18, 19, 20, 21),
        "set cert_authority to the CA that signed it; the server must send intermediates",
    ),
    **dict.fromkeys(
        (62, 64), "use a host name that is in the certificate, or issue one with this name"
    ),
}
"""By OpenSSL's codes for what is wrong with a certificate."""


def _no_upgrade(_: socket.socket) -> None:
    """Start TLS with the connection."""


class Endpoint(NamedTuple):
    """A server's address; without a `context` the connection is not encrypted.

    `upgrade` sends what the protocol needs on a connected socket before TLS begins.

    Its methods return a description of the result, and raise `FaultError`.
    """

    host: str
    port: int
    context: ssl.SSLContext | None = None
    upgrade: Callable[[socket.socket], None] = _no_upgrade

    @classmethod
    def of(cls, address: str, port: int, context: ssl.SSLContext | None = None) -> Self:
        """Return the endpoint of `host:port`; by default, it is this port of localhost."""
        parts = urlsplit(f"//{address}")
        return cls(parts.hostname or "localhost", parts.port or port, context)

    @classmethod
    def of_url(cls, url: str, settings: Tls) -> Self:
        """Return the endpoint of an http or https URL, the latter with TLS by these settings."""
        parts = urlsplit(url)
        context = tls.context(settings) if parts.scheme == "https" else None
        return cls(parts.hostname or "", parts.port or (443 if context else 80), context)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def resolve(self) -> str:
        """Resolve the host name."""
        try:
            found = connecting.look_up(self.host, self.port, time.monotonic() + SECONDS)
        except OSError as error:
            hint = (
                "correct the host in the settings; if the name is right, check that the DNS of the "
                "function's network knows it (a VPC: its resolver and private hosted zones)"
            )
            raise FaultError(f"the host {self.host} is unknown: {error}", hint) from None
        addresses = sorted({str(each.name[0]) for each in found})
        return f"{self.host} is {', '.join(addresses)}"

    def reach(self) -> str:
        """Connect."""
        self._connect().close()
        return f"{self} accepts connections"

    def encrypt(self) -> tuple[str, float | None]:
        """Make the TLS handshake; also return the days until the certificate expires.

        They are None if the certificate is not verified.
        """
        context = self.context
        if context is None:
            return f"{self} is used without TLS", None
        line = self._connect()
        try:
            self.upgrade(line)
            with connecting.encrypt(line, context, self.host) as encrypted:
                version, certificate = encrypted.version(), encrypted.getpeercert()
        except ssl.SSLCertVerificationError as error:
            hint = _CERTIFICATE_HINTS.get(error.verify_code, "replace the server's certificate")
            fault = f"{self}: its certificate is refused: {error.verify_message}"
            raise FaultError(fault, hint) from None
        except (OSError, ValueError) as error:
            hint = "check that the port speaks TLS, or switch TLS off in the settings"
            raise FaultError(f"{self}: no TLS: {error}", hint) from None
        finally:
            line.close()
        expires = str((certificate or {}).get("notAfter", ""))
        if not expires:
            return f"{version}; the certificate is not verified, as the settings say", None
        days = (ssl.cert_time_to_seconds(expires) - time.time()) / _DAY
        return f"{version}; the certificate is valid until {expires}", days

    def _connect(self) -> socket.socket:
        try:
            return connecting.connect(self.host, self.port, time.monotonic() + SECONDS)
        except ForbiddenError as error:
            hint = (
                "use a public address, or name this one in allow_private and deploy; link-local "
                "addresses are never allowed"
            )
            raise FaultError(f"{self}: {error}", hint) from None
        except ConnectionRefusedError:
            hint = "start the server, or correct host and port in the settings"
            raise FaultError(f"{self} refuses connections: nothing listens there", hint) from None
        except OSError as error:
            hint = (
                "check firewalls and security groups of the server, and for a function in a VPC "
                "its subnets, routes and security groups; then host and port in the settings"
            )
            raise FaultError(f"{self} does not answer: {error}", hint) from None


class FaultError(Exception):
    """A fault, with a hint how to fix it."""

    def __init__(self, fault: str, hint: str) -> None:
        super().__init__(fault)
        self.hint = hint
