"""Where a server listens, and what happens on the way there: DNS, TCP, TLS and its certificate."""

import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

SECONDS = 5.0
_DAY = 86_400
_EXPIRED, _NOT_YET, _OTHER_NAMES = 10, 9, (62, 64)
_UNKNOWN_ISSUER = (2, 18, 19, 20, 21)
"""OpenSSL's codes of a chain that ends at nobody who is trusted."""


def _at_once(_: socket.socket) -> None:
    """TLS begins with the connection."""


def _anywhere(_host: str, _address: str) -> str:
    """Allow every address."""
    return ""


class Endpoint(NamedTuple):
    """A server's address; without a `context` the connection is not encrypted.

    `upgrade` says what the protocol needs before TLS begins, on a connected socket. `refusal`
    returns why not to connect to an address of the host, "" if it is allowed.

    Its methods return what they saw, and raise `FaultError`.
    """

    host: str
    port: int
    context: ssl.SSLContext | None = None
    upgrade: Callable[[socket.socket], None] = _at_once
    refusal: Callable[[str, str], str] = _anywhere

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def resolve(self) -> str:
        """Look the name up."""
        return f"{self.host} is {', '.join(sorted(set(self._addresses())))}"

    def reach(self) -> str:
        """Connect."""
        self._connected().close()
        return f"{self} accepts connections"

    def encrypt(self) -> tuple[str, float | None]:
        """Shake hands; return also in how many days the certificate ends, None if unverified."""
        context = self.context
        if context is None:
            return f"{self} is used without TLS", None
        line = self._connected()
        try:
            self.upgrade(line)
            with context.wrap_socket(line, server_hostname=self.host) as encrypted:
                version, found = encrypted.version(), encrypted.getpeercert()
        except ssl.SSLCertVerificationError as error:
            raise self._unverified(error) from None
        except (OSError, ValueError) as error:
            hint = "see that the port speaks TLS, or switch TLS off in the settings if it does not"
            raise FaultError(f"{self}: no TLS: {error}", hint) from None
        finally:
            line.close()
        ends = str((found or {}).get("notAfter", ""))
        if not ends:
            return f"{version}; the certificate is not verified, as the settings say", None
        days = (ssl.cert_time_to_seconds(ends) - time.time()) / _DAY
        return f"{version}; the certificate is valid until {ends}", days

    def _addresses(self) -> list[str]:
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            hint = (
                "correct the host in the settings; if the name is right, see that the DNS of the "
                "function's network knows it (a VPC: its resolver and private hosted zones)"
            )
            raise FaultError(f"the host {self.host} is unknown: {error}", hint) from None
        return [str(each[4][0]) for each in found]

    def _allowed(self) -> list[str]:
        refusals = {each: self.refusal(self.host, each) for each in self._addresses()}
        if all(refusals.values()):
            hint = (
                "use a public address, or name this one in allow_private and deploy; link-local "
                "addresses are never allowed"
            )
            raise FaultError(f"{self}: {'; '.join(refusals.values())}", hint)
        return [address for address, why in refusals.items() if not why]

    def _connected(self) -> socket.socket:
        *others, last = self._allowed()  # by address: the name may have another one a moment later
        for address in others:
            with suppress(OSError):
                return socket.create_connection((address, self.port), SECONDS)
        try:
            return socket.create_connection((last, self.port), SECONDS)
        except ConnectionRefusedError:
            hint = "start the server, or correct host and port in the settings"
            raise FaultError(f"{self} refuses connections: nothing listens there", hint) from None
        except OSError as error:
            hint = (
                "see firewalls and security groups of the server, and for a function in a VPC its "
                "subnets, routes and security groups; then host and port in the settings"
            )
            raise FaultError(f"{self} does not answer: {error}", hint) from None

    def _unverified(self, error: ssl.SSLCertVerificationError) -> "FaultError":
        code = error.verify_code
        if code == _EXPIRED:
            hint = "renew the server's certificate and load it; the waiting events are then sent"
        elif code == _NOT_YET:
            hint = "wait, or issue it anew: it is not valid yet; see the server's clock too"
        elif code in _OTHER_NAMES:
            hint = "use a host name that is in the certificate, or issue one with this name"
        elif code in _UNKNOWN_ISSUER:
            hint = "set cert_authority to the CA that signed it; the server must send intermediates"
        else:
            hint = "replace the server's certificate"
        return FaultError(f"{self}: its certificate is refused: {error.verify_message}", hint)


def received(line: socket.socket, count: int) -> bytes:
    """Return exactly so many bytes, for an `upgrade`.

    Raises:
        OSError: the server hung up before.
    """
    data = b""
    while len(data) < count:
        if not (part := line.recv(count - len(data))):
            raise OSError("the server hung up")
        data += part
    return data


class FaultError(Exception):
    """What is wrong, and what to do."""

    def __init__(self, found: str, hint: str) -> None:
        super().__init__(found)
        self.hint = hint
