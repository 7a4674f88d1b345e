"""The bytes to and from a broker: a socket, with or without TLS, where every wait has an end."""

import contextlib
import select
import socket
import ssl
import time
from typing import Protocol

CHUNK = 65_536
_LEAST_WAIT = 0.001


class Line(Protocol):
    """What carries MQTT; a deadline is a reading of `time.monotonic`.

    Its methods raise `OSError` where the line is of no use any more.
    """

    @property
    def has_news(self) -> bool: ...

    def send(self, data: bytes, deadline: float) -> None: ...

    def receive(self, deadline: float) -> bytes: ...

    def close(self) -> None: ...


class Wire:
    """A connected socket."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    @property
    def has_news(self) -> bool:
        """Whether something came unasked, such as the connection's end."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def send(self, data: bytes, deadline: float) -> None:
        left = memoryview(data)
        while left:
            self._wait_until(deadline)
            left = left[self._socket.send(left) :]

    def receive(self, deadline: float) -> bytes:
        """What there is, at least a byte."""
        self._wait_until(deadline)
        if not (data := self._socket.recv(CHUNK)):
            raise ConnectionError("the broker hung up")
        return data

    def encrypt(self, context: ssl.SSLContext, host: str, deadline: float) -> None:
        self._wait_until(deadline)
        self._socket = context.wrap_socket(self._socket, server_hostname=host)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()

    def _wait_until(self, deadline: float) -> None:
        self._socket.settimeout(max(_LEAST_WAIT, deadline - time.monotonic()))


def dial(host: str, port: int, context: ssl.SSLContext | None, deadline: float) -> Wire:
    """A connection, encrypted where there is a context."""
    left = max(_LEAST_WAIT, deadline - time.monotonic())
    connected = socket.create_connection((host, port), timeout=left)
    made = Wire(connected)
    try:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is not None:
            made.encrypt(context, host, deadline)
    except BaseException:
        made.close()
        raise
    return made
