"""A socket, plain or with TLS, on which every wait has a deadline."""

import os
import select
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Timer
from typing import Any

from bucketcast.errors import TimedOut
from bucketcast.targets.base import connecting

CHUNK = 65_536
_LEAST_WAIT = 0.001
_GRACE = 1.0
"""Seconds after the deadline in which received data may be read and a last message sent."""


class DeadlineSocket:
    """A connected socket; a deadline is a value of `time.monotonic`.

    Its methods raise `OSError` if the connection cannot be used any more.
    """

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    @property
    def has_input(self) -> bool:
        """True if there is unexpected input, such as the end of the connection."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def encrypt(self, context: ssl.SSLContext, host: str, deadline: float) -> None:
        self._wait_until(deadline)
        self._socket = connecting.encrypt(self._socket, context, host)

    def send(self, data: bytes, deadline: float) -> None:
        unsent = memoryview(data)
        while unsent:
            self._wait_until(deadline)
            unsent = unsent[self._socket.send(unsent) :]

    def receive(self, deadline: float, limit: int = CHUNK) -> bytes:
        """Return the available input, at least one byte."""
        self._wait_until(deadline)
        return self._recv(limit)

    def receive_exactly(self, count: int, deadline: float) -> bytes:
        data = b""
        while len(data) < count:
            data += self.receive(deadline, count - len(data))
        return data

    def receive_now(self) -> bytes:
        """Return the input that has arrived already, perhaps none."""
        self._socket.settimeout(0)
        try:
            return self._recv(CHUNK)
        except (BlockingIOError, ssl.SSLWantReadError):
            return b""

    def close(self) -> None:
        with suppress(OSError):
            self._socket.close()

    def _recv(self, limit: int) -> bytes:
        if not (data := self._socket.recv(limit)):
            raise ConnectionError("the server closed the connection")
        return data

    def _wait_until(self, deadline: float) -> None:
        remaining = deadline - time.monotonic()
        if remaining < -_GRACE:  # the peer sends only a few bytes at a time
            raise TimeoutError("timed out")
        self._socket.settimeout(max(_LEAST_WAIT, remaining))


class LibraryConnection:
    """The connection of a client library, which hides its socket or replaces it for TLS."""

    _client: Any

    def __init__(self, line: socket.socket) -> None:
        """Keep a duplicate of the plain, connected socket."""
        self._line = socket.socket(fileno=os.dup(line.fileno()))

    def is_usable(self) -> bool:
        """Return False if the server closed it: there is no other input between statements."""
        return not select.select([self._line], [], [], 0)[0]

    @contextmanager
    def close_after(self, seconds: float) -> Iterator[None]:
        """Close the connection if the server has not finished after `seconds`.

        Raises:
            TimedOut: the body failed because of that.
        """
        expired = Event()

        def shut_down() -> None:
            expired.set()
            with suppress(OSError):
                self._line.shutdown(socket.SHUT_RDWR)

        timer = Timer(seconds, shut_down)
        timer.daemon = True
        timer.start()
        try:
            yield
        except Exception:
            if expired.is_set():
                raise TimedOut(f"no answer within {seconds:g} s") from None
            raise
        finally:
            timer.cancel()

    def rollback(self) -> None:
        """End the transaction."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the connection without waiting for the server."""
        self._line.settimeout(0)  # of the library's too: both are the same socket
        with suppress(Exception):
            self._client.close()
        self._line.close()


def connect(
    host: str, port: int, deadline: float, context: ssl.SSLContext | None = None
) -> DeadlineSocket:
    """Connect, with TLS if there is a context.

    Raises:
        OSError: it was not possible by the deadline, or the name is no host's.
    """
    connected = DeadlineSocket(connecting.connect(host, port, deadline))
    try:
        if context is not None:
            connected.encrypt(context, host, deadline)
    except BaseException:
        connected.close()
        raise
    return connected
