"""MSK's login: SASL OAUTHBEARER over TLS, whose token is a signed URL."""

import socket
import struct
from base64 import urlsafe_b64decode
from contextlib import ExitStack
from typing import Any

from tests.servers import Settings
from tests.servers.iam import REGION, Gate, RefusedError, read_exactly
from tests.servers.kafka import KafkaServer

_HANDSHAKE, _AUTHENTICATE = 17, 36
_FAILED = 58
_CLUSTER = f"arn:aws:kafka:{REGION}:111122223333:cluster/events/0123-4567-1"


class KafkaGate(Gate):
    service = "kafka-cluster"
    server: KafkaServer

    def settings(self) -> Settings:
        return {
            "brokers": self.address,
            "tls": "on",
            "cert_authority": self.server.tls.ca.read_text(),
            "topic": self.server.destination,
            "auth": "iam",
            "iam_resource": _CLUSTER,
        }

    def admit(self, client: socket.socket, until: ExitStack) -> tuple[socket.socket, socket.socket]:
        line = self.encrypted(client, until)
        server = self.behind(f"127.0.0.1:{self.server.chosen['iam']}", until)
        while True:
            request = _frame(line)
            key, version, number, length = struct.unpack(">hhih", request[:10])
            body = request[10 + max(length, 0) :]
            if key == _HANDSHAKE:
                answer = struct.pack(">hih", 0, 1, 11) + b"OAUTHBEARER"
                _answer(line, number, answer)
            elif key == _AUTHENTICATE:
                self._authenticate(line, number, version, body[4:])
                return line, server
            else:  # what the broker can do, which it tells anybody
                server.sendall(struct.pack(">i", len(request)) + request)
                found = _frame(server)
                line.sendall(struct.pack(">i", len(found)) + found)

    def _authenticate(
        self, line: socket.socket, number: int, version: int, credentials: bytes
    ) -> None:
        lifetime = struct.pack(">q", 0) if version else b""
        try:
            self._check(credentials.decode())
        except RefusedError:
            text = b"[uuid]: Access denied"
            head = struct.pack(">hh", _FAILED, len(text)) + text
            _answer(line, number, head + struct.pack(">i", 0) + lifetime)
            raise
        _answer(line, number, struct.pack(">hhi", 0, -1, 0) + lifetime)

    def _check(self, credentials: str) -> None:
        head, sign, rest = credentials.partition("auth=Bearer ")
        token, end, _ = rest.partition("\1")
        if not (head.startswith("n,") and sign and end):
            raise self.refusal("no bearer token")
        url = urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
        signed, agent, _ = url.partition("&User-Agent=")
        if "=" in token or not agent or not signed.startswith("https://"):
            raise self.refusal("another form")
        host = f"kafka.{REGION}.amazonaws.com"
        self.check_token(signed.removeprefix("https://"), {"Action": "kafka-cluster:Connect"}, host)


def gate(server: Any) -> Gate:
    assert isinstance(server, KafkaServer)
    return KafkaGate(server, server.chosen["iam_gate"])


def _frame(line: socket.socket) -> bytes:
    (length,) = struct.unpack(">i", read_exactly(line, 4))
    return read_exactly(line, length)


def _answer(line: socket.socket, number: int, body: bytes) -> None:
    line.sendall(struct.pack(">ii", len(body) + 4, number) + body)
