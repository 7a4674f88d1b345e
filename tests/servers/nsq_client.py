"""A client of nsqd for tests: writes one message a command, reads a channel and finishes it.

Written apart from the target's sender, so that neither can hide the other's bug.
"""

import json
import socket
import ssl
import struct
from collections.abc import Iterator
from typing import NamedTuple, Self

RESPONSE, ERROR, MESSAGE = range(3)


class NsqError(Exception):
    """nsqd answered a command with an error."""


class Message(NamedTuple):
    """A message of a channel; one that is delivered again keeps its id."""

    id: str
    body: bytes


class Client:
    """Identified and logged in, over TLS where there is a context."""

    def __init__(
        self, address: str, secret: str, context: ssl.SSLContext | None = None, seconds: float = 10
    ) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=seconds)
        try:
            self._socket.sendall(b"  V2")
            wanted = {"feature_negotiation": True, "tls_v1": context is not None}
            self.send("IDENTIFY", json.dumps(wanted).encode())
            self.features = json.loads(self.response())
            if context is not None:
                self._socket = context.wrap_socket(self._socket, server_hostname=host)
                self.response()
            if self.features["auth_required"]:
                self.send("AUTH", secret.encode())
                self.response()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def send(self, command: str, body: bytes | None = None) -> None:
        counted = b"" if body is None else struct.pack(">l", len(body)) + body
        self._socket.sendall(f"{command}\n".encode() + counted)

    def response(self) -> bytes:
        type_, data = self._frame()
        if type_ == ERROR:
            raise NsqError(data.decode())
        assert type_ == RESPONSE
        return data

    def publish(self, topic: str, body: bytes) -> None:
        self.send(f"PUB {topic}", body)
        assert self.response() == b"OK"

    def messages(self, topic: str, channel: str) -> Iterator[Message]:
        """The channel's messages as they come; each is finished when the next is asked for."""
        self.send(f"SUB {topic} {channel}")
        assert self.response() == b"OK"
        self.send("RDY 1000")
        while True:
            type_, data = self._frame()
            if type_ == MESSAGE:  # its time in 8 bytes, its attempts in 2, its id in 16
                message = Message(data[10:26].decode(), data[26:])
                yield message
                self.send(f"FIN {message.id}")
            elif data == b"_heartbeat_":
                self.send("NOP")
            elif not data.startswith(b"E_FIN_FAILED"):  # too late: it comes again, with its id
                raise NsqError(data.decode())

    def leave(self) -> None:
        """Take no more messages; returns when nsqd knows what was finished."""
        self.send("CLS")
        while self._frame()[1] != b"CLOSE_WAIT":
            pass

    def _frame(self) -> tuple[int, bytes]:
        size, type_ = struct.unpack(">ll", self._exactly(8))
        return type_, self._exactly(size - 4)

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self._socket.recv(count - len(data))
            if not more:
                raise ConnectionError("nsqd closed the connection")
            data += more
        return data
