"""PostgreSQL and Redis for the demo, if the machine has their programs.

Each runs on a port and with a password of its own that stay the same from run to run, so that a
second demo finds the deployed stack unchanged. `make stop` ends them; their data stay.
"""

from __future__ import annotations

import json
import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import redis
from pg8000 import native

from localstack import background, ports, postgres, redis_server
from localstack.layout import LOCAL

FOLDER = LOCAL / "demo"
ID = "demo"
TABLE = "bucket_events"
"""The name of the table, and of the hash."""
USER = "bucketcast"
"""The user of PostgreSQL."""
READY_SECONDS = 120.0
# `make stop` sends SIGTERM, after which PostgreSQL would wait for its clients, the emulator's
# functions; after SIGINT it does not.
END_AT_ONCE = '"$@" & pid=$!; trap "kill -INT $pid" TERM; wait $pid; wait $pid'


class Database(ABC):
    """One database of the demo's own; `missing` is the reason why it cannot run, or empty."""

    kind: ClassVar[str]
    title: ClassVar[str]
    hint: ClassVar[str]

    def __init__(self) -> None:
        self.folder = FOLDER / self.kind
        self.name = f"demo-{self.kind}"
        self.program = self._program()
        self.missing = "" if self.program else f"not on this machine ({self.hint})"
        self.port = 0
        self.password = ""

    def ensure(self) -> None:
        """Start it unless it runs; raise Failure with the end of its log if it does not answer."""
        self.folder.mkdir(parents=True, exist_ok=True)
        running = background.pid(self.name) is not None
        self.port, self.password = self._login(running=running)
        if not running:
            self._start()
        background.wait_until(self.name, self._is_ready, title=self.title, within=READY_SECONDS)

    @abstractmethod
    def variables(self) -> Mapping[str, str]:
        """Return MinIO's variables that make it a target of the deploy."""

    @abstractmethod
    def keys(self, prefix: str) -> set[str]:
        """Return the keys of rows or hash fields with a prefix; empty before the first event."""

    @abstractmethod
    def show_command(self) -> str:
        """Return a command that prints its content."""

    @abstractmethod
    def _program(self) -> str | None: ...

    @abstractmethod
    def _start(self) -> None: ...

    @abstractmethod
    def _is_ready(self) -> bool: ...

    def _login(self, *, running: bool) -> tuple[int, str]:
        """Return port and password: those of the last run, but another port if that is in use."""
        file = self.folder / "login.json"
        try:
            login: dict[str, Any] = json.loads(file.read_text())
        except (OSError, ValueError):
            login = {"port": ports.free(), "password": secrets.token_urlsafe(12)}
        if not running and not ports.is_free(login["port"]):
            login["port"] = ports.free()
        file.touch(mode=0o600)
        file.write_text(json.dumps(login))
        return login["port"], login["password"]


class Postgres(Database):
    """A cluster with one user and a password."""

    kind = "postgres"
    title = "PostgreSQL"
    hint = "apt install postgresql"

    def variables(self) -> Mapping[str, str]:
        login = (
            f"host=127.0.0.1 port={self.port} user={USER} password={self.password} "
            "dbname=postgres sslmode=disable"
        )
        return variables(self.kind, connection_string=login, table=TABLE, format="namespace")

    def keys(self, prefix: str) -> set[str]:
        with self._connect() as connection:
            if connection.run("SELECT to_regclass(:table)", table=TABLE) == [[None]]:
                return set()
            query = f"SELECT key FROM {TABLE} WHERE starts_with(key, :prefix)"  # noqa: S608 - a constant
            return {str(key) for (key,) in connection.run(query, prefix=prefix)}

    def show_command(self) -> str:
        login = f"PGPASSFILE={os.path.relpath(self._passfile())} psql -h 127.0.0.1 -p {self.port}"
        return f"{login} -U {USER} -c 'TABLE {TABLE}' postgres"

    def _program(self) -> str | None:
        program = postgres.initdb()
        return str(program) if program else None

    def _start(self) -> None:
        initdb = Path(str(self.program))
        data = postgres.ensure(initdb, postgres.home(self.folder), USER, self.password)
        self._passfile().touch(mode=0o600)
        self._passfile().write_text(f"127.0.0.1:{self.port}:*:{USER}:{self.password}\n")
        server = postgres.command(initdb, data, self.port)
        command = ["/bin/sh", "-c", END_AT_ONCE, "sh", *server]
        background.start(self.name, command, dict(os.environ))

    def _is_ready(self) -> bool:
        try:
            self._connect().close()
        except native.Error:
            return False
        return True

    def _connect(self) -> native.Connection:
        return native.Connection(
            USER,
            host="127.0.0.1",
            port=self.port,
            password=self.password,
            database="postgres",
            timeout=5,
        )

    def _passfile(self) -> Path:
        return self.folder / "pgpass"


class Redis(Database):
    """A server with one user and a password."""

    kind = "redis"
    title = "Redis"
    hint = "apt install redis-server"

    def variables(self) -> Mapping[str, str]:
        address = f"127.0.0.1:{self.port}"
        return variables(
            self.kind, address=address, password=self.password, key=TABLE, format="namespace"
        )

    def keys(self, prefix: str) -> set[str]:
        with self._connect() as client:
            fields: Any = client.hkeys(TABLE)
        return {key for key in (field.decode() for field in fields) if key.startswith(prefix)}

    def show_command(self) -> str:
        password = f"$(cat {os.path.relpath(self.folder / 'password')})"
        return f'REDISCLI_AUTH="{password}" redis-cli -p {self.port} hgetall {TABLE}'

    def _program(self) -> str | None:
        return redis_server.program()

    def _start(self) -> None:
        password = self.folder / "password"
        password.touch(mode=0o600)
        password.write_text(self.password)
        login = f'requirepass "{self.password}"\n'
        command = redis_server.command(str(self.program), self.folder, self.port, login)
        background.start(self.name, command, dict(os.environ))

    def _is_ready(self) -> bool:
        try:
            with self._connect() as client:
                client.ping()
        except (redis.ConnectionError, redis.TimeoutError):
            return False
        return True

    def _connect(self) -> redis.Redis:
        return redis.Redis(
            host="127.0.0.1", port=self.port, password=self.password, socket_timeout=5
        )


def variables(kind: str, **settings: str) -> Mapping[str, str]:
    """Return MinIO's variables of the demo's own target of a kind."""
    return {
        f"MINIO_NOTIFY_{kind}_{key}".upper() + f"_{ID}": value
        for key, value in {"enable": "on", **settings}.items()
    }
