"""A client of nsqd for tests: publishes messages one by one, and reads a channel.

It shares no code with the target's client, so that neither can hide the other's bug.
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
    """A message of a channel; a redelivered message keeps its id."""

    id: str
    body: bytes


class Client:
    """A connection that is logged in, over TLS if there is a context."""

    def __init__(
        self, address: str, secret: str, context: ssl.SSLContext | None = None, seconds: float = 60
    ) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=seconds)
        try:
            self._socket.sendall(b"  V2")
            requested = {"feature_negotiation": True, "tls_v1": context is not None}
            self.send("IDENTIFY", json.dumps(requested).encode())
            self.features = json.loads(self.read_response())
            if context is not None:
                self._socket = context.wrap_socket(self._socket, server_hostname=host)
                self.read_response()
            if self.features["auth_required"]:
                self.send("AUTH", secret.encode())
                self.read_response()
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
        payload = b"" if body is None else struct.pack(">l", len(body)) + body
        self._socket.sendall(f"{command}\n".encode() + payload)

    def read_response(self) -> bytes:
        type_, data = self._read_frame()
        if type_ == ERROR:
            raise NsqError(data.decode())
        assert type_ == RESPONSE
        return data

    def publish(self, topic: str, body: bytes) -> None:
        self.send(f"PUB {topic}", body)
        assert self.read_response() == b"OK"

    def messages(self, topic: str, channel: str) -> Iterator[Message]:
        """Yield the channel's messages as they arrive; finish each before the next."""
        self.send(f"SUB {topic} {channel}")
        assert self.read_response() == b"OK"
        self.send("RDY 1000")
        while True:
            type_, data = self._read_frame()
            if type_ == MESSAGE:  # 8 bytes for the time, 2 for the attempts, 16 for the id
                message = Message(data[10:26].decode(), data[26:])
                yield message
                self.send(f"FIN {message.id}")
            elif data == b"_heartbeat_":
                self.send("NOP")
            elif not data.startswith(b"E_FIN_FAILED"):  # finished too late, and redelivered
                raise NsqError(data.decode())

    def end_subscription(self) -> None:
        """Stop the messages, and wait until nsqd has processed every FIN."""
        self.send("CLS")
        while self._read_frame()[1] != b"CLOSE_WAIT":
            pass

    def _read_frame(self) -> tuple[int, bytes]:
        size, type_ = struct.unpack(">ll", self._read_exactly(8))
        return type_, self._read_exactly(size - 4)

    def _read_exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            if not part:
                raise ConnectionError("nsqd closed the connection")
            data += part
        return data
