"""A socket, plain or with TLS, on which every wait has an end."""

import select
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Timer

from bucketcast.errors import TimedOut

CHUNK = 65_536
_LEAST_WAIT = 0.001
_GRACE = 1.0
"""What is here already may be read, and a goodbye sent, so many seconds after the deadline."""


class DeadlineSocket:
    """A connected socket; a deadline is a reading of `time.monotonic`.

    Its methods raise `OSError` where the connection is of no more use. `hung_up` is what is said
    of a peer that closed it.
    """

    def __init__(self, connected: socket.socket, hung_up: str) -> None:
        # The end of a message must not wait until its beginning is acknowledged.
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connected
        self._hung_up = hung_up

    @property
    def has_input(self) -> bool:
        """Whether something arrived unasked, such as the end of the connection."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def encrypt(self, context: ssl.SSLContext, host: str, deadline: float) -> None:
        self._wait_until(deadline)
        self._socket = context.wrap_socket(self._socket, server_hostname=host)

    def send(self, data: bytes, deadline: float) -> None:
        left = memoryview(data)
        while left:
            self._wait_until(deadline)
            left = left[self._socket.send(left) :]

    def receive(self, deadline: float, most: int = CHUNK) -> bytes:
        """Return what there is, at least a byte."""
        self._wait_until(deadline)
        return self._received(most)

    def receive_now(self) -> bytes:
        """Return what is here already, perhaps nothing."""
        self._socket.settimeout(0)
        try:
            return self._received(CHUNK)
        except (BlockingIOError, ssl.SSLWantReadError):
            return b""

    def close(self) -> None:
        with suppress(OSError):
            self._socket.close()

    def _received(self, most: int) -> bytes:
        if not (data := self._socket.recv(most)):
            raise ConnectionError(self._hung_up)
        return data

    def _wait_until(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left < -_GRACE:  # of a peer that trickles
            raise TimeoutError("timed out")
        self._socket.settimeout(max(_LEAST_WAIT, left))


@contextmanager
def hung_up_after(seconds: float, line: socket.socket) -> Iterator[None]:
    """Hang up on a peer that is not done after so many seconds, for a client that would wait.

    Raises:
        TimedOut: that is why there was an error.
    """
    late = Event()

    def hang_up() -> None:
        late.set()
        with suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)

    timer = Timer(seconds, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception:
        if late.is_set():
            raise TimedOut(f"no answer within {seconds:g} s") from None
        raise
    finally:
        timer.cancel()


def connect(
    host: str,
    port: int,
    deadline: float,
    context: ssl.SSLContext | None = None,
    hung_up: str = "the server closed the connection",
) -> DeadlineSocket:
    """Connect, with TLS if there is a context."""
    left = max(_LEAST_WAIT, deadline - time.monotonic())
    connected = socket.create_connection((host, port), timeout=left)
    try:
        made = DeadlineSocket(connected, hung_up)
        if context is not None:
            made.encrypt(context, host, deadline)
    except BaseException:
        connected.close()
        raise
    return made
