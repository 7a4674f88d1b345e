"""MQTT inside a websocket.

Source: RFC 6455, and section 6 of MQTT 5.0 (Use of WebSocket as a network transport): binary
frames, whose borders mean nothing, and the subprotocol `mqtt`.
"""

import base64
import hashlib
import os

from bucketcast.targets.base.sockets import DeadlineSocket

MAX_HEAD = 65_536
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUED, _BINARY, _CLOSE, _PING, _PONG = 0x0, 0x2, 0x8, 0x9, 0xA
_LAST = 0x80
_MASKED = 0x80
_SHORT, _TWO_BYTES, _EIGHT_BYTES = 125, 126, 127


class HandshakeError(Exception):
    """The server answered with something else than a websocket; `status` is 0 for no HTTP."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


class WebSocket:
    """An open websocket, used as a `DeadlineSocket` is."""

    def __init__(self, plain: DeadlineSocket, received: bytes) -> None:
        self._plain = plain
        self._received = bytearray(received)

    @property
    def has_input(self) -> bool:
        return bool(self._received) or self._plain.has_input

    def send(self, data: bytes, deadline: float) -> None:
        self._plain.send(_frame(_BINARY, data), deadline)

    def receive(self, deadline: float) -> bytes:
        while True:
            found = b""
            while (frame := _taken(self._received)) is not None:
                kind, data = frame
                if kind in (_BINARY, _CONTINUED):
                    found += data
                elif kind == _PING:
                    self._plain.send(_frame(_PONG, data), deadline)
                elif kind == _CLOSE:
                    raise ConnectionError("the broker closed the websocket")
            if found:
                return found
            self._received += self._plain.receive(deadline)

    def close(self) -> None:
        self._plain.close()


def upgrade(plain: DeadlineSocket, netloc: str, path: str, deadline: float) -> WebSocket:
    """Turn an HTTP connection into a websocket.

    Raises:
        HandshakeError: the server does not do that.
    """
    key = base64.b64encode(os.urandom(16))
    lines = (
        f"GET {path} HTTP/1.1",
        f"Host: {netloc}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key.decode()}",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Protocol: mqtt",
    )
    plain.send("\r\n".join((*lines, "", "")).encode(), deadline)
    received = b""
    while b"\r\n\r\n" not in received:
        if len(received) > MAX_HEAD or not b"HTTP/".startswith(received[:5]):
            raise HandshakeError(0, "what answers is no HTTP server")
        received += plain.receive(deadline)
    head, _, rest = received.partition(b"\r\n\r\n")
    _see(head.decode("latin-1"), key)
    return WebSocket(plain, rest)


def _see(head: str, key: bytes) -> None:
    """Whether the server agreed to what was asked for."""
    first, *lines = head.split("\r\n")
    words = first.split(maxsplit=2)
    status = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
    if status != 101:  # noqa: PLR2004 - Switching Protocols
        raise HandshakeError(status, f"what answers is no websocket: {first[:80]}")
    headers = {name.strip().lower(): text.strip() for name, _, text in _halves(lines)}
    wanted = base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest())
    if headers.get("sec-websocket-accept") != wanted.decode():
        raise HandshakeError(status, "what answers does not keep to the websocket protocol")
    if headers.get("sec-websocket-protocol", "").lower() != "mqtt":
        raise HandshakeError(status, "what answers is a websocket, and not for mqtt")


def _halves(lines: list[str]) -> list[tuple[str, str, str]]:
    return [line.partition(":") for line in lines]


def _frame(kind: int, data: bytes) -> bytes:
    size = len(data)
    if size <= _SHORT:
        length = bytes([_MASKED | size])
    elif size < 1 << 16:
        length = bytes([_MASKED | _TWO_BYTES]) + size.to_bytes(2, "big")
    else:
        length = bytes([_MASKED | _EIGHT_BYTES]) + size.to_bytes(8, "big")
    mask = os.urandom(4)
    return bytes([_LAST | kind]) + length + mask + _masked(data, mask)


def _masked(data: bytes, mask: bytes) -> bytes:
    """Each byte xor its byte of the mask: as one large number, many times faster than by byte."""
    size = len(data)
    repeated = (mask * (size // 4 + 1))[:size]
    number = int.from_bytes(data, "little") ^ int.from_bytes(repeated, "little")
    return number.to_bytes(size, "little")


def _taken(received: bytearray) -> tuple[int, bytes] | None:
    """Return the next whole frame, off the front; None while it is not all there."""
    if len(received) < 2:  # noqa: PLR2004 - the least that a frame takes
        return None
    size, at = received[1] & 0x7F, 2
    if width := {_TWO_BYTES: 2, _EIGHT_BYTES: 8}.get(size):
        size, at = int.from_bytes(received[at : at + width], "big"), at + width
    if len(received) < at + size:
        return None
    kind, data = received[0] & 0x0F, bytes(received[at : at + size])
    del received[: at + size]
    return kind, data
