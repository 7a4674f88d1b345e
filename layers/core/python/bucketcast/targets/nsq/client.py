"""The part of NSQ's protocol V2 that a producer needs, over a socket of the standard library.

Source: "TCP Protocol Spec" of NSQ's documentation. A command is a line, and for some commands a
length and a body; an answer is a frame: length, type, data. Numbers are 32 bits, big-endian. nsqd
closes the connection after each error.
"""

import socket
import struct
import time
from collections import deque
from collections.abc import Iterable, Iterator

import msgspec

from bucketcast import __version__
from bucketcast.targets.base import sockets, tls
from bucketcast.targets.base.answers import Refusal
from bucketcast.targets.base.endpoint import SECONDS
from bucketcast.targets.nsq.settings import NsqSettings

MAGIC = b"  V2"
MAX_ANSWER = 64 * 1024
"""Bytes: answers to a producer take some hundred, so a larger frame is another protocol's."""
UNCONFIRMED = 4
"""Commands in flight at once: nsqd has work while answers travel."""
_RESPONSE, _ERROR = 0, 1
_length = struct.Struct(">i")
_head = struct.Struct(">ii")


def request_tls(line: socket.socket) -> None:
    """Request TLS on a new connection.

    Raises:
        OSError: the server does not offer TLS.
    """
    try:
        _identify(sockets.DeadlineSocket(line), time.monotonic() + SECONDS, encrypted=True)
    except Refusal as error:
        raise OSError(str(error)) from None


def _encode_identify(*, encrypted: bool) -> bytes:
    """Return the command IDENTIFY, which begins a connection."""
    features = {
        "feature_negotiation": True,
        "heartbeat_interval": -1,  # off, as a frozen function could not answer them
        "tls_v1": encrypted,
        "user_agent": f"bucketcast/{__version__}",
    }
    body = msgspec.json.encode(features)
    return MAGIC + b"IDENTIFY\n" + _length.pack(len(body)) + body


class _Features(msgspec.Struct):
    """The fields of nsqd's answer to IDENTIFY that are used here."""

    tls_v1: bool
    auth_required: bool = False


class Client:
    """A connection that is ready to publish.

    Its methods raise `Refusal` for an error of nsqd, and `OSError` for any other; the connection
    cannot be used any more then.
    """

    def __init__(self, settings: NsqSettings, deadline: float) -> None:
        context = tls.context(settings) if settings.encrypted else None
        server = settings.server
        self._socket = sockets.connect(server.host, server.port, deadline)
        try:
            auth_required = _identify(self._socket, deadline, encrypted=settings.encrypted)
            if context is not None:
                self._socket.encrypt(context, server.host, deadline)
                self._expect_ok(deadline)
            if auth_required:
                self._log_in(settings.auth_secret.reveal(), deadline)
        except BaseException:
            self.close()
            raise

    def is_usable(self) -> bool:
        """Return False if nsqd closed the connection: without heartbeats, it sends nothing else."""
        return not self._socket.has_input

    def publish(self, parts: Iterable[tuple[int, bytes]], deadline: float) -> Iterator[int]:
        """Send commands, each with an index of the batch; yield the index of each confirmed one.

        At most `UNCONFIRMED` are in flight at once, and may be sent twice if the connection breaks.
        """
        ends: deque[int] = deque()
        for end, command in parts:
            if len(ends) == UNCONFIRMED:
                self._expect_ok(deadline)
                yield ends.popleft()
            ends.append(end)
            try:
                self._socket.send(command, deadline)
            except OSError:  # an answer has the reason
                break
        for end in ends:
            self._expect_ok(deadline)
            yield end

    def close(self) -> None:
        self._socket.close()

    def _log_in(self, secret: str, deadline: float) -> None:
        """Send the secret, which only an nsqd that requires one accepts."""
        if not secret:
            raise Refusal("E_AUTH_FIRST", "E_AUTH_FIRST")
        body = secret.encode()
        self._socket.send(b"AUTH\n" + _length.pack(len(body)) + body, deadline)
        _read_answer(self._socket, deadline)

    def _expect_ok(self, deadline: float) -> None:
        """Read nsqd's confirmation of a command."""
        if (data := _read_answer(self._socket, deadline)) != b"OK":
            raise ConnectionError(f"nsqd answered {data[:80]!r} instead of OK")


def _identify(line: sockets.DeadlineSocket, deadline: float, *, encrypted: bool) -> bool:
    """Negotiate the features of a connection; return True if nsqd requires a secret."""
    line.send(_encode_identify(encrypted=encrypted), deadline)
    try:
        features = msgspec.json.decode(_read_answer(line, deadline), type=_Features)
    except msgspec.MsgspecError as error:
        raise ConnectionError(f"nsqd's answer to IDENTIFY cannot be read: {error}") from None
    if encrypted and not features.tls_v1:
        raise ConnectionError("nsqd offers no TLS")
    return features.auth_required


def _read_answer(line: sockets.DeadlineSocket, deadline: float) -> bytes:
    """Return the next answer's data."""
    size, type_ = _head.unpack(line.receive_exactly(_head.size, deadline))
    if not _length.size <= size <= MAX_ANSWER or type_ not in (_RESPONSE, _ERROR):
        raise ConnectionError("it does not speak NSQ's protocol")
    data = line.receive_exactly(size - _length.size, deadline)
    if type_ == _ERROR:
        text = data.decode(errors="replace")  # such as `E_BAD_TOPIC PUB topic name "" is not …`
        raise Refusal(text, text.partition(" ")[0])
    return data
