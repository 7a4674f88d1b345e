"""RDS' login for PostgreSQL: TLS, then a request for the password in clear text."""

import socket
import struct
from contextlib import ExitStack
from typing import Any

from tests.servers import Settings
from tests.servers.iam import REGION, Gate, RefusedError, read_exactly
from tests.servers.postgres import DATABASE, IAM_USER, USER, PostgresServer

_LENGTH = struct.Struct("!i")
_SSL_REQUEST = _LENGTH.pack(80_877_103)
_FAILED = f'PAM authentication failed for user "{IAM_USER}"'


class PostgresGate(Gate):
    service = "rds-db"

    def settings(self) -> Settings:
        return {
            "connection_string": f"host=127.0.0.1 port={self.port} dbname={DATABASE}",
            "cert_authority": self.server.tls.ca.read_text(),
            "table": self.server.destination,
            "auth": "iam",
            "iam_resource": f"arn:aws:rds-db:{REGION}:111122223333:dbuser:db-ABC123/{IAM_USER}",
        }

    def admit(self, client: socket.socket, until: ExitStack) -> tuple[socket.socket, socket.socket]:
        if _message(client)[4:] != _SSL_REQUEST:
            raise self.refusal("not over TLS")
        client.sendall(b"S")
        line = self.encrypted(client, until)
        startup = _message(line)
        line.sendall(b"R" + struct.pack("!ii", 8, 3))  # AuthenticationCleartextPassword
        assert read_exactly(line, 1) == b"p"
        token = _message(line)[4:].rstrip(b"\0").decode()
        if f"user\0{IAM_USER}\0".encode() not in startup:
            raise self.refusal("another user")
        try:
            self.check_token(token, {"Action": "connect", "DBUser": IAM_USER}, self.address)
        except RefusedError:
            fields = f"SFATAL\0VFATAL\0C28000\0M{_FAILED}\0\0".encode()
            line.sendall(b"E" + _LENGTH.pack(len(fields) + 4) + fields)
            raise
        server = self.behind(self.server.address, until)
        server.sendall(startup)
        return line, server


def gate(server: Any) -> Gate:
    assert isinstance(server, PostgresServer)
    with server.connect() as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [IAM_USER]).rowcount:
            connection.execute(f"CREATE ROLE {IAM_USER} LOGIN IN ROLE {USER}".encode())
        connection.execute(f"GRANT USAGE, CREATE ON SCHEMA public TO {IAM_USER}".encode())
    return PostgresGate(server)


def _message(line: socket.socket) -> bytes:
    """Return a message with its length, and without its type."""
    head = read_exactly(line, 4)
    return head + read_exactly(line, _LENGTH.unpack(head)[0] - 4)
