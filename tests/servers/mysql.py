# ruff: noqa: S608 - a test server's own tables
"""MariaDB instead of MySQL, with passwords, TLS, and one user who needs a client certificate.

Of MySQL itself there is no program in the distributions' packages: what is said of MySQL rests on
its manual, and on these statements being such as both document.
"""

import os
import subprocess
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any

import pymysql

from tests.servers import Arrival, Server, Settings
from tests.servers.machine import find_program, ports
from tests.servers.process import Process
from tests.servers.tls import CLIENT_NAME, Tls

DATABASE = "bucketcast"
USER = "alice"
PASSWORD = "alice-s3cret"
CLIENT_PASSWORD = "carol-s3cret"
ADMIN = "admin"
ADMIN_PASSWORD = "admin-s3cret"

# One statement a line: the server takes no two, and runs on without what it did not take.
_AT_EACH_START = f"""\
CREATE DATABASE IF NOT EXISTS {DATABASE} CHARACTER SET latin1;
CREATE USER IF NOT EXISTS {ADMIN}@'127.0.0.1' IDENTIFIED BY '{ADMIN_PASSWORD}';
CREATE USER IF NOT EXISTS {USER}@'%' IDENTIFIED BY '{PASSWORD}';
CREATE USER IF NOT EXISTS {CLIENT_NAME}@'127.0.0.1' IDENTIFIED BY '{CLIENT_PASSWORD}' REQUIRE X509;
GRANT ALL ON *.* TO {ADMIN}@'127.0.0.1' WITH GRANT OPTION;
GRANT ALL ON {DATABASE}.* TO {USER}@'%';
GRANT ALL ON {DATABASE}.* TO {CLIENT_NAME}@'127.0.0.1';
"""


class MysqlServer(Server):
    """Its `destination` is a table in the database `bucketcast`."""

    kind = "mysql"
    destination = "events"

    def connect(self, database: str | None = DATABASE) -> Any:
        """An administrator's connection that commits each statement; the caller closes it."""
        return pymysql.connect(
            host="127.0.0.1",
            port=self.port,
            user=ADMIN,
            password=ADMIN_PASSWORD,
            database=database,
            charset="utf8mb4",
            autocommit=True,
            ssl_disabled=True,
            connect_timeout=60,
            read_timeout=60,
        )

    def rows(self, statement: str, values: Any = None) -> list[tuple[Any, ...]]:
        """What an administrator's statement answers."""
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor.fetchall())

    def dsn(self, user: str = USER, password: str = PASSWORD, parameters: str = "") -> str:
        """A `dsn_string` for this server."""
        return f"{user}:{password}@tcp({self.address})/{DATABASE}{parameters}"

    def settings(self, **overrides: str) -> Settings:
        return {"dsn_string": self.dsn(), "table": self.destination, **overrides}

    def wrong_password_settings(self, **overrides: str) -> Settings:
        return self.settings(dsn_string=self.dsn(password="wr0ng-s3cret"), **overrides)

    def encrypted(self, *, demanding: bool) -> Settings:
        login = (CLIENT_NAME, CLIENT_PASSWORD) if demanding else (USER, PASSWORD)
        return {"dsn_string": self.dsn(*login, "?tls=true")}

    def write(self, key: str, body: bytes) -> None:
        statement = f"UPDATE {self.destination} SET value = %s WHERE key_name = %s"
        self.rows(statement, [body.decode(), key])

    def received(self, destination: str = "") -> list[Arrival]:
        table = destination or self.destination
        columns = self.rows(
            "SELECT column_name FROM information_schema.columns"
            " WHERE table_schema = %s AND table_name = %s",
            [DATABASE, table],
        )
        if ("key_name",) in columns:
            rows = self.rows(f"SELECT key_name, value FROM `{table}` ORDER BY key_name")
            return [Arrival(key=key, body=value.encode()) for key, value in rows]
        if ("event_time",) in columns:
            rows = self.rows(f"SELECT event_time, event_data FROM `{table}`")
            return [
                Arrival(time=time.replace(tzinfo=UTC).isoformat(), body=data.encode())
                for time, data in rows
            ]
        return []

    def clear(self) -> None:
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("SET lock_wait_timeout = 60")
            cursor.execute("SHOW FULL TABLES")
            for name, sort in cursor.fetchall():
                quoted = name.replace("`", "``")
                cursor.execute(f"DROP {'VIEW' if sort == 'VIEW' else 'TABLE'} `{quoted}`")


def start(folder: Path, tls: Tls) -> MysqlServer:
    """Start MariaDB with its data below `folder`; see `servers.Module.start`."""
    program, install = find_program("mariadbd"), find_program("mariadb-install-db")
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "data"
    port = ports(folder, "plain")["plain"]
    # It refuses to run as root unless told to.
    account = ["--user=root"] if os.geteuid() == 0 else []
    if not (folder / "made").exists():
        command = [install, "--no-defaults", f"--datadir={data}", *account, "--skip-test-db"]
        command.append("--auth-root-authentication-method=normal")
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)
        (folder / "made").touch()
    (folder / "init.sql").write_text(_AT_EACH_START)
    arguments = [
        program,
        "--no-defaults",
        *account,
        f"--datadir={data}",
        "--bind-address=127.0.0.1",
        f"--port={port}",
        "--socket=socket",  # below its data: a long path would not do
        f"--pid-file={folder / 'mariadbd.pid'}",
        "--skip-name-resolve",
        "--innodb-buffer-pool-size=64M",
        # For tests of what a client says of itself, and of a login in clear text.
        "--performance-schema=ON",
        "--plugin-load-add=auth_pam",
        "--loose-pam-use-cleartext-plugin=ON",
        f"--init-file={folder / 'init.sql'}",
        f"--ssl-ca={tls.ca}",
        f"--ssl-cert={tls.server_cert}",
        f"--ssl-key={tls.server_key}",
    ]
    process = Process(
        arguments,
        folder,
        ready=lambda: server.connect().close(),
        not_ready_yet=(pymysql.MySQLError,),
    )
    server = MysqlServer(process, tls, port)
    process.start()
    return server
