"""PostgreSQL with SCRAM logins, TLS, and one user who needs a client certificate."""

import shutil
import signal
from datetime import UTC
from pathlib import Path

import psycopg
from psycopg import sql

from localstack import postgres
from tests.servers import Arrival, Server, Settings
from tests.servers.machine import MissingProgramError, ports
from tests.servers.process import Process
from tests.servers.tls import CLIENT_NAME, Tls

DATABASE = "bucketcast"
USER = "alice"
PASSWORD = "alice-s3cret"
CLIENT_PASSWORD = "carol-s3cret"
ADMIN = "postgres"
ADMIN_PASSWORD = "admin-s3cret"

# The first line that fits decides. The client certificate's user gives a password too, so that a
# test that leaves the certificate out, and nothing else, is refused for that.
_LOGINS = f"""\
hostssl   all {CLIENT_NAME} 127.0.0.1/32 scram-sha-256 clientcert=verify-full
hostnossl all {CLIENT_NAME} 127.0.0.1/32 reject
host      all all 127.0.0.1/32 scram-sha-256
"""

_USERS = (
    f"CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'",
    f"CREATE ROLE {CLIENT_NAME} LOGIN PASSWORD '{CLIENT_PASSWORD}' IN ROLE {USER}",
    f"CREATE DATABASE {DATABASE} OWNER {USER}",
)

_AS_NEW = (
    "SET lock_timeout = '60s'",
    "DROP SCHEMA IF EXISTS public CASCADE",
    "CREATE SCHEMA public AUTHORIZATION pg_database_owner",
    f"GRANT USAGE, CREATE ON SCHEMA public TO {CLIENT_NAME}",
)


class PostgresServer(Server):
    """Its `destination` is a table in the schema public."""

    kind = "postgres"
    destination = "events"

    def connect(self, database: str = DATABASE) -> psycopg.Connection:
        """A superuser's connection that commits each statement; the caller closes it."""
        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user=ADMIN,
            password=ADMIN_PASSWORD,
            dbname=database,
            autocommit=True,
            connect_timeout=60,
        )

    def settings(self, **overrides: str) -> Settings:
        string = self._string(USER, PASSWORD, "disable")
        return {"connection_string": string, "table": self.destination, **overrides}

    def wrong_password_settings(self, **overrides: str) -> Settings:
        string = self._string(USER, "wr0ng-s3cret", "disable")
        return self.settings(connection_string=string, **overrides)

    def encrypted(self, *, demanding: bool) -> Settings:
        login = (CLIENT_NAME, CLIENT_PASSWORD) if demanding else (USER, PASSWORD)
        return {"connection_string": self._string(*login, "verify-full")}

    def _string(self, user: str, password: str, sslmode: str) -> str:
        return (
            f"host=127.0.0.1 port={self.port} dbname={DATABASE} user={user} password={password}"
            f" sslmode={sslmode}"
        )

    def show_certificate(self) -> None:
        for file in (self.tls.server_cert, self.tls.server_key):
            _copy(file, postgres.home(self.process.folder))
        super().show_certificate()

    def write(self, key: str, body: bytes) -> None:
        table = sql.SQL("public.{}").format(sql.Identifier(self.destination))
        statement = sql.SQL("UPDATE {} SET value = %s::jsonb WHERE key = %s").format(table)
        with self.connect() as connection:
            connection.execute(statement, [body.decode(), key])

    def received(self, destination: str = "") -> list[Arrival]:
        table = destination or self.destination
        with self.connect() as connection:
            columns = connection.execute(
                "SELECT column_name FROM information_schema.columns"
                " WHERE table_schema = 'public' AND table_name = %s",
                [table],
            )
            names = {str(name) for (name,) in columns}
            source = sql.SQL("FROM public.{}").format(sql.Identifier(table))
            if "key" in names:
                rows = connection.execute(
                    sql.SQL("SELECT key, value::text {} ORDER BY key").format(source)
                )
                return [Arrival(key=str(key), body=str(value).encode()) for key, value in rows]
            if "event_time" in names:
                rows = connection.execute(
                    sql.SQL("SELECT event_time, event_data::text {} ORDER BY ctid").format(source)
                )
                return [
                    Arrival(time=time.astimezone(UTC).isoformat(), body=str(data).encode())
                    for time, data in rows
                ]
        return []

    def clear(self) -> None:
        with self.connect() as connection:
            for statement in _AS_NEW:
                connection.execute(statement.encode())


def start(folder: Path, tls: Tls) -> PostgresServer:
    """Start PostgreSQL with its data below `folder`; see `servers.Module.start`."""
    initdb = postgres.initdb()
    if initdb is None:
        raise MissingProgramError("initdb")
    folder.mkdir(parents=True, exist_ok=True)
    home = postgres.home(folder)
    port = ports(folder, "plain")["plain"]
    data = postgres.ensure(initdb, home, ADMIN, ADMIN_PASSWORD)
    (data / "pg_hba.conf").write_text(_LOGINS)
    arguments = postgres.command(
        initdb,
        data,
        port,
        ssl="on",
        ssl_cert_file=_copy(tls.server_cert, home),
        ssl_key_file=_copy(tls.server_key, home),
        ssl_ca_file=_copy(tls.ca, home),
        max_connections="100",
    )
    process = Process(
        arguments,
        folder,
        ready=lambda: server.connect(ADMIN).close(),
        not_ready_yet=(psycopg.OperationalError,),
        stop_signal=signal.SIGINT,
    )
    server = PostgresServer(process, tls, port)
    process.start()
    try:
        _make_users(server)
    except BaseException:
        process.stop()
        raise
    return server


def _copy(file: Path, home: Path) -> str:
    """A copy that belongs to the server's account; it refuses a key that others may read."""
    copied = home / file.name
    shutil.copyfile(file, copied)
    copied.chmod(0o600)
    postgres.give(copied)
    return str(copied)


def _make_users(server: PostgresServer) -> None:
    """Make what is not there yet, the database last, so that it tells whether all is."""
    with server.connect(ADMIN) as connection:
        existing = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
        if existing.fetchone() is not None:
            return
        for statement in _USERS:
            connection.execute(statement.encode())
    server.clear()
