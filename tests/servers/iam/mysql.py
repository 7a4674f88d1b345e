"""RDS' login for MySQL: TLS, then a switch to the plugin `mysql_clear_password`."""

import os
import socket
import struct
from contextlib import ExitStack
from typing import Any

import pymysql

from tests.servers import Settings
from tests.servers.iam import REGION, Gate, RefusedError, read_exactly
from tests.servers.mysql import DATABASE, PASSWORD, USER, MysqlServer

IAM_USER = "bucketcast"
# Protocol 4.1, TLS, connection with a database, plugins, transactions, multiple results.
_CAPABILITIES = 0x0000_0200 | 0x0000_0800 | 0x0000_0008 | 0x0008_0000 | 0x0000_8000 | 0x0000_2000
_CAPABILITIES |= 0x0007_0001 | 0x0020_0000 | 0x0010_0000
_SCRAMBLE = b"0123456789abcdefghij"
_OK = b"\0\0\0\2\0\0\0"


class MysqlGate(Gate):
    service = "rds-db"

    def settings(self) -> Settings:
        return {
            "host": "127.0.0.1",
            "port": str(self.port),
            "database": DATABASE,
            "cert_authority": self.server.tls.ca.read_text(),
            "table": self.server.destination,
            "auth": "iam",
            "iam_resource": f"arn:aws:rds-db:{REGION}:111122223333:dbuser:cluster-ABC/{IAM_USER}",
        }

    def admit(self, client: socket.socket, until: ExitStack) -> tuple[socket.socket, socket.socket]:
        _send(client, 0, _greeting())
        number, _ = _packet(client)
        if number != 1:
            raise self.refusal("not over TLS")
        line = self.encrypted(client, until)
        number, response = _packet(line)
        if f"{IAM_USER}\0".encode() != response[32 : 33 + len(IAM_USER)]:
            raise self.refusal("another user")
        _send(line, number + 1, b"\xfemysql_clear_password\0")
        number, answer = _packet(line)
        try:
            token = answer.rstrip(b"\0").decode()
            self.check_token(token, {"Action": "connect", "DBUser": IAM_USER}, self.address)
        except RefusedError:
            text = f"#28000Access denied for user '{IAM_USER}'@'127.0.0.1'".encode()
            _send(line, number + 1, b"\xff" + struct.pack("<H", 1045) + text)
            raise
        server = until.enter_context(self._logged_in())
        _send(line, number + 1, _OK)
        return line, server

    def _logged_in(self) -> socket.socket:
        host, _, port = self.server.address.rpartition(":")
        made = pymysql.Connection(
            host=host,
            port=int(port),
            user=USER,
            password=PASSWORD,
            database=DATABASE,
            charset="utf8mb4",
            collation="utf8mb4_bin",
            autocommit=None,
            ssl_disabled=True,
        )
        line: Any = made
        return socket.socket(fileno=os.dup(line._sock.fileno()))


def gate(server: Any) -> Gate:
    assert isinstance(server, MysqlServer)
    return MysqlGate(server)


def _greeting() -> bytes:
    low, high = _CAPABILITIES & 0xFFFF, _CAPABILITIES >> 16
    return (
        b"\x0a8.0.36\0"
        + struct.pack("<I", 1)
        + _SCRAMBLE[:8]
        + struct.pack("<xHBHHB10x", low, 45, 2, high, len(_SCRAMBLE) + 1)
        + _SCRAMBLE[8:]
        + b"\0mysql_native_password\0"
    )


def _send(line: socket.socket, number: int, text: bytes) -> None:
    line.sendall(struct.pack("<I", len(text))[:3] + bytes([number]) + text)


def _packet(line: socket.socket) -> tuple[int, bytes]:
    head = read_exactly(line, 4)
    return head[3], read_exactly(line, int.from_bytes(head[:3], "little"))
