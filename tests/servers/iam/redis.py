"""ElastiCache's login: `AUTH user token`, of the cache's name."""

import socket
from contextlib import ExitStack
from typing import Any

from tests.servers import Settings
from tests.servers.iam import REGION, Gate, RefusedError, read_exactly
from tests.servers.redis import PASSWORD, RedisServer

CACHE, USER = "events", "bucketcast"


class RedisGate(Gate):
    service = "elasticache"

    def settings(self) -> Settings:
        return {
            "address": self.address,
            "tls": "on",
            "cert_authority": self.server.tls.ca.read_text(),
            "key": self.server.destination,
            "user": USER,
            "auth": "iam",
            "iam_resource": f"arn:aws:elasticache:{REGION}:111122223333:replicationgroup:{CACHE}",
        }

    def admit(self, client: socket.socket, until: ExitStack) -> tuple[socket.socket, socket.socket]:
        line = self.encrypted(client, until)
        command = _command(line)
        if len(command) != 3 or command[:2] != ["AUTH", USER]:
            raise self.refusal(f"not a login of {USER}: {command[:2]}")
        try:
            self.check_token(command[2], {"Action": "connect", "User": USER}, CACHE)
        except RefusedError:
            line.sendall(b"-WRONGPASS invalid username-password pair or user is disabled.\r\n")
            raise
        server = self.behind(self.server.address, until)
        server.sendall(f"AUTH {PASSWORD}\r\n".encode())
        return line, server


def gate(server: Any) -> Gate:
    assert isinstance(server, RedisServer)
    return RedisGate(server)


def _command(line: socket.socket) -> list[str]:
    return [_text(line) for _ in range(_number(line, b"*"))]


def _text(line: socket.socket) -> str:
    text = read_exactly(line, _number(line, b"$"))
    read_exactly(line, 2)
    return text.decode()


def _number(line: socket.socket, mark: bytes) -> int:
    read = b""
    while not read.endswith(b"\r\n"):
        read += read_exactly(line, 1)
    assert read[:1] == mark
    return int(read[1:])
