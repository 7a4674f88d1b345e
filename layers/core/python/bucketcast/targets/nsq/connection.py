"""NSQ's protocol V2, as much of it as a producer needs, over a socket of the standard library.

Source: "TCP Protocol Spec" of NSQ's documentation. A command is a line, and for some a body behind
its length; an answer is a frame: length, type, data. Numbers are 32 bits, big end first. nsqd
closes the connection after each error.
"""

import contextlib
import select
import socket
import ssl
import struct
import time

import msgspec

from bucketcast import __version__
from bucketcast.options import Secret
from bucketcast.targets.nsq.outcome import Refused

MAGIC = b"  V2"
LARGEST_ANSWER = 64 * 1024
"""A frame larger than that is none: answers to a producer take some hundred bytes."""
_LEAST_WAIT = 0.001
_RESPONSE, _ERROR = 0, 1
_length = struct.Struct(">i")
_head = struct.Struct(">ii")


class _Features(msgspec.Struct):
    """What nsqd answers of itself, as far as it matters here."""

    tls_v1: bool
    auth_required: bool = False


class Connection:
    """A connection to nsqd; every call ends by its deadline, a reading of `time.monotonic`.

    Its methods raise `OSError` where the connection is of no use any more, and `Refused` where nsqd
    said why.
    """

    def __init__(self, connected: socket.socket) -> None:
        # A command's end is not to wait until its beginning is acknowledged.
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connected

    @property
    def closed_by_peer(self) -> bool:
        """Whether something came unasked: without heartbeats, that is the connection's end."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def write(self, data: bytes, deadline: float) -> None:
        left = memoryview(data)
        while left:
            self._wait_until(deadline)
            left = left[self._socket.send(left) :]

    def answer(self, deadline: float) -> bytes:
        """The next answer's data."""
        size, type_ = _head.unpack(self._read(_head.size, deadline))
        if not _length.size <= size <= LARGEST_ANSWER or type_ not in (_RESPONSE, _ERROR):
            raise ConnectionError("it does not speak NSQ's protocol")
        data = self._read(size - _length.size, deadline)
        if type_ == _ERROR:
            raise Refused(data.decode(errors="replace"))
        return data

    def confirm(self, deadline: float) -> None:
        """Take the answer to a command that nsqd has carried out."""
        if (data := self.answer(deadline)) != b"OK":
            raise ConnectionError(f"nsqd answered {data[:80]!r} instead of OK")

    def encrypt(self, context: ssl.SSLContext, host: str, deadline: float) -> None:
        self._wait_until(deadline)
        self._socket = context.wrap_socket(self._socket, server_hostname=host)
        self.confirm(deadline)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()

    def _read(self, count: int, deadline: float) -> bytes:
        data = b""
        while len(data) < count:
            self._wait_until(deadline)
            if not (more := self._socket.recv(count - len(data))):
                raise ConnectionError("nsqd closed the connection")
            data += more
        return data

    def _wait_until(self, deadline: float) -> None:
        self._socket.settimeout(max(_LEAST_WAIT, deadline - time.monotonic()))


def connect(
    address: tuple[str, int], secret: Secret, context: ssl.SSLContext | None, deadline: float
) -> Connection:
    """A connection that is ready to publish: encrypted where there is a context, and logged in."""
    left = max(_LEAST_WAIT, deadline - time.monotonic())
    made = Connection(socket.create_connection(address, timeout=left))
    try:
        _agree(made, address[0], secret, context, deadline)
    except BaseException:
        made.close()
        raise
    return made


def _agree(
    made: Connection, host: str, secret: Secret, context: ssl.SSLContext | None, deadline: float
) -> None:
    features = _identify(made, deadline, encrypted=context is not None)
    if context is not None:
        if not features.tls_v1:
            raise ConnectionError("nsqd offers no TLS")
        made.encrypt(context, host, deadline)
    if features.auth_required:
        _log_in(made, secret, deadline)


def _identify(made: Connection, deadline: float, *, encrypted: bool) -> _Features:
    wanted = {
        "feature_negotiation": True,
        "heartbeat_interval": -1,  # a function that sleeps between its calls would miss them
        "tls_v1": encrypted,
        "user_agent": f"bucketcast/{__version__}",
    }
    body = msgspec.json.encode(wanted)
    made.write(MAGIC + b"IDENTIFY\n" + _length.pack(len(body)) + body, deadline)
    try:
        return msgspec.json.decode(made.answer(deadline), type=_Features)
    except msgspec.MsgspecError as error:
        raise ConnectionError(f"nsqd's answer to IDENTIFY cannot be read: {error}") from None


def _log_in(made: Connection, secret: Secret, deadline: float) -> None:
    """Only where nsqd asks for it: it takes a secret that it did not ask for as an error."""
    if not secret:
        raise Refused("E_AUTH_FIRST")
    body = secret.reveal().encode()
    made.write(b"AUTH\n" + _length.pack(len(body)) + body, deadline)
    made.answer(deadline)
