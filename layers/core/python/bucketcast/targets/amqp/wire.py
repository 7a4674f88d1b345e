"""Frames of AMQP 0-9-1 over a socket, with an end to every wait; pika puts them into bytes."""

import socket
import ssl
import struct
import time
from typing import Any

from bucketcast import tls
from bucketcast.targets.amqp.address import Address

CONNECT_SECONDS = 5.0
_BYTES_A_READ = 8192


class Wire:
    """A connected socket. `usable` tells whether a frame can still be sent and understood."""

    def __init__(self, address: Address, given: tls.Given) -> None:
        context = tls.context(given) if address.encrypted else None
        plain = socket.create_connection((address.host, address.port), CONNECT_SECONDS)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket = (
                context.wrap_socket(plain, server_hostname=address.host) if context else plain
            )
        except BaseException:
            plain.close()
            raise
        self._read = b""
        self.usable = True

    def write(self, frames: bytes, until: float) -> None:
        """Send these, by a moment of the monotonic clock.

        Raises:
            OSError: the connection broke, or time was up; it is of no use any more.
        """
        try:
            self._wait_until(until)
            self._socket.sendall(frames)
        except OSError:
            self.usable = False
            raise

    def frame(self, until: float | None = None) -> Any:
        """The next frame; without a moment to wait for only one that is here, else None.

        Raises:
            OSError: the connection broke, or time was up; it is of no use any more.
        """
        try:
            while True:
                size, found = _decoded(self._read)
                if found is not None:
                    self._read = self._read[size:]
                    return found
                if not self._more(until):
                    return None
        except OSError:
            self.usable = False
            raise

    def close(self) -> None:
        """Hang up."""
        self.usable = False
        self._socket.close()

    def _more(self, until: float | None) -> bool:
        """Whether there was more to read."""
        if until is None:
            self._socket.settimeout(0)
        else:
            self._wait_until(until)
        try:
            part = self._socket.recv(_BYTES_A_READ)
        except (BlockingIOError, ssl.SSLWantReadError):
            return False
        if not part:
            raise ConnectionError("the connection was closed by the server")
        self._read += part
        return True

    def _wait_until(self, until: float) -> None:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._socket.settimeout(left)


def _decoded(data: bytes) -> tuple[int, Any]:
    """How many bytes the first frame takes, and the frame; None if it is not here as a whole.

    Raises:
        ConnectionError: that is no AMQP 0-9-1.
    """
    from pika.exceptions import AMQPError  # noqa: PLC0415 - only its own function carries it
    from pika.frame import ProtocolHeader, decode_frame  # noqa: PLC0415

    try:
        size, found = decode_frame(data)
    except (AMQPError, KeyError, ValueError, struct.error):
        raise ConnectionError("the server answers something else than AMQP 0-9-1") from None
    if isinstance(found, ProtocolHeader):
        raise ConnectionError("the server does not speak AMQP 0-9-1, but another version of it")
    return size, found
