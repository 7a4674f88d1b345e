"""NSQ's protocol V2, as much of it as a producer needs, over a socket of the standard library.

Source: "TCP Protocol Spec" of NSQ's documentation. A command is a line, and for some a body behind
its length; an answer is a frame: length, type, data. Numbers are 32 bits, big end first. nsqd
closes the connection after each error.
"""

import socket
import struct
from collections import deque
from collections.abc import Iterable, Iterator

import msgspec

from bucketcast import __version__
from bucketcast.targets.base import sockets, tls
from bucketcast.targets.base.endpoint import receive_exactly
from bucketcast.targets.nsq.errors import Refused
from bucketcast.targets.nsq.settings import NsqSettings

MAGIC = b"  V2"
MAX_ANSWER = 64 * 1024
"""A frame larger than that is none: answers to a producer take some hundred bytes."""
UNCONFIRMED = 4
"""Commands in flight at once: nsqd has work while answers travel."""
_RESPONSE, _ERROR = 0, 1
_length = struct.Struct(">i")
_head = struct.Struct(">ii")


def upgrade(line: socket.socket) -> None:
    """Ask for TLS on a new connection.

    Raises:
        OSError, ValueError: it offers none.
    """
    line.sendall(identification(encrypted=True))
    size, type_ = _head.unpack(receive_exactly(line, _head.size))
    if type_ != _RESPONSE or not _length.size <= size <= MAX_ANSWER:
        raise OSError("it does not speak NSQ's protocol")
    features = msgspec.json.decode(receive_exactly(line, size - _length.size), type=_Features)
    if not features.tls_v1:
        raise OSError("nsqd offers no TLS")


def identification(*, encrypted: bool) -> bytes:
    """Return what a client says of itself, and what it wants."""
    wanted = {
        "feature_negotiation": True,
        "heartbeat_interval": -1,  # a function that sleeps between its calls would miss them
        "tls_v1": encrypted,
        "user_agent": f"bucketcast/{__version__}",
    }
    body = msgspec.json.encode(wanted)
    return MAGIC + b"IDENTIFY\n" + _length.pack(len(body)) + body


class _Features(msgspec.Struct):
    """What nsqd answers about itself, as far as it matters here."""

    tls_v1: bool
    auth_required: bool = False


class Client:
    """A connection that is ready to publish.

    Its methods raise `OSError` where the connection is of no more use, and `Refused` where nsqd
    said why.
    """

    def __init__(self, settings: NsqSettings, deadline: float) -> None:
        context = tls.context(settings) if settings.encrypted else None
        host, port = settings.address
        self._socket = sockets.connect(
            host, port, deadline, closed_message="nsqd closed the connection"
        )
        try:
            auth_required = self._identify(deadline, encrypted=settings.encrypted)
            if context is not None:
                self._socket.encrypt(context, host, deadline)
                self._confirm(deadline)
            if auth_required:
                self._log_in(settings.auth_secret.reveal(), deadline)
        except BaseException:
            self.close()
            raise

    @property
    def has_ended(self) -> bool:
        """Whether something came unasked: without heartbeats, that is the connection's end."""
        return self._socket.has_input

    def publish(self, parts: Iterable[tuple[int, bytes]], deadline: float) -> Iterator[int]:
        """Write commands, each behind an index of the batch; yield the index of each confirmed.

        A few are in flight at once: all of those are repeated if the connection breaks.
        """
        ends: deque[int] = deque()
        for end, command in parts:
            if len(ends) == UNCONFIRMED:
                self._confirm(deadline)
                yield ends.popleft()
            ends.append(end)
            try:
                self._socket.send(command, deadline)
            except OSError:  # the answers say why
                break
        for end in ends:
            self._confirm(deadline)
            yield end

    def close(self) -> None:
        self._socket.close()

    def _identify(self, deadline: float, *, encrypted: bool) -> bool:
        """Negotiate; return whether nsqd wants a secret."""
        self._socket.send(identification(encrypted=encrypted), deadline)
        try:
            features = msgspec.json.decode(self._answer(deadline), type=_Features)
        except msgspec.MsgspecError as error:
            raise ConnectionError(f"nsqd's answer to IDENTIFY cannot be read: {error}") from None
        if encrypted and not features.tls_v1:
            raise ConnectionError("nsqd offers no TLS")
        return features.auth_required

    def _log_in(self, secret: str, deadline: float) -> None:
        """Log in if nsqd asks for it: it takes a secret that it did not ask for as an error."""
        if not secret:
            raise Refused("E_AUTH_FIRST")
        body = secret.encode()
        self._socket.send(b"AUTH\n" + _length.pack(len(body)) + body, deadline)
        self._answer(deadline)

    def _confirm(self, deadline: float) -> None:
        """Read the answer to a command that nsqd has carried out."""
        if (data := self._answer(deadline)) != b"OK":
            raise ConnectionError(f"nsqd answered {data[:80]!r} instead of OK")

    def _answer(self, deadline: float) -> bytes:
        """Return the next answer's data."""
        size, type_ = _head.unpack(self._read(_head.size, deadline))
        if not _length.size <= size <= MAX_ANSWER or type_ not in (_RESPONSE, _ERROR):
            raise ConnectionError("it does not speak NSQ's protocol")
        data = self._read(size - _length.size, deadline)
        if type_ == _ERROR:
            raise Refused(data.decode(errors="replace"))
        return data

    def _read(self, count: int, deadline: float) -> bytes:
        data = b""
        while len(data) < count:
            data += self._socket.receive(deadline, count - len(data))
        return data
