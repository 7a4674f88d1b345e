"""PostgreSQL for the demo, if the machine has its programs.

It runs on a port and with a password of its own that stay the same from run to run, so that a
second demo finds the deployed stack unchanged. `make stop` ends it; its data stay.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pg8000 import native

from localstack import background, ports, postgres
from localstack.layout import LOCAL

FOLDER = LOCAL / "demo"
ID = "demo"
TABLE = "bucket_events"
TITLE = "PostgreSQL"
USER = "bucketcast"
_NAME = "demo-postgres"
_HOME = FOLDER / "postgres"
_PASSFILE = _HOME / "pgpass"
READY_SECONDS = 120.0
# `make stop` sends SIGTERM, after which PostgreSQL would wait for its clients, the emulator's
# functions; after SIGINT it does not.
END_AT_ONCE = '"$@" & pid=$!; trap "kill -INT $pid" TERM; wait $pid; wait $pid'


class Database:
    """A cluster with one user and a password."""

    def __init__(self, initdb: Path) -> None:
        self.program = initdb
        self.port = 0
        self.password = ""

    def ensure(self) -> None:
        """Start it unless it runs; raise Failure with the end of its log if it does not answer."""
        _HOME.mkdir(parents=True, exist_ok=True)
        running = background.pid(_NAME) is not None
        self.port, self.password = _login(running=running)
        if not running:
            self._start()
        background.wait_until(_NAME, self._is_ready, title=TITLE, within=READY_SECONDS)

    def variables(self) -> Mapping[str, str]:
        """Return MinIO's variables that make it a target of the deploy."""
        login = (
            f"host=127.0.0.1 port={self.port} user={USER} password={self.password} "
            "dbname=postgres sslmode=disable"
        )
        return variables("postgres", connection_string=login, table=TABLE, format="namespace")

    def keys(self, prefix: str) -> set[str]:
        """Return the keys of rows with a prefix; empty before the first event."""
        with self._connect() as connection:
            if connection.run("SELECT to_regclass(:table)", table=TABLE) == [[None]]:
                return set()
            query = f"SELECT key FROM {TABLE} WHERE starts_with(key, :prefix)"  # noqa: S608 - a constant
            return {str(key) for (key,) in connection.run(query, prefix=prefix)}

    def show_command(self) -> str:
        """Return a command that prints its content."""
        login = f"PGPASSFILE={os.path.relpath(_PASSFILE)} psql -h 127.0.0.1 -p {self.port}"
        return f"{login} -U {USER} -c 'TABLE {TABLE}' postgres"

    def _start(self) -> None:
        data = postgres.ensure(self.program, postgres.home(_HOME), USER, self.password)
        _PASSFILE.touch(mode=0o600)
        _PASSFILE.write_text(f"127.0.0.1:{self.port}:*:{USER}:{self.password}\n")
        server = postgres.command(self.program, data, self.port)
        command = ["/bin/sh", "-c", END_AT_ONCE, "sh", *server]
        background.start(_NAME, command, dict(os.environ))

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


def _login(*, running: bool) -> tuple[int, str]:
    """Return port and password: those of the last run, but another port if that is in use."""
    file = _HOME / "login.json"
    try:
        login: dict[str, Any] = json.loads(file.read_text())
    except (OSError, ValueError):
        login = {"port": ports.free(), "password": secrets.token_urlsafe(12)}
    if not running and not ports.is_free(login["port"]):
        login["port"] = ports.free()
    file.touch(mode=0o600)
    file.write_text(json.dumps(login))
    return login["port"], login["password"]


def variables(kind: str, **settings: str) -> Mapping[str, str]:
    """Return MinIO's variables of the demo's own target of a kind."""
    return {
        f"MINIO_NOTIFY_{kind}_{key}".upper() + f"_{ID}": value
        for key, value in {"enable": "on", **settings}.items()
    }
