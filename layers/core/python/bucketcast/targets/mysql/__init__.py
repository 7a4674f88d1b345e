"""MySQL 5.7.8 or newer, MariaDB 10.3 or newer: a table that mirrors the bucket, or a log of events.

The tests run on MariaDB 10.11. MySQL itself is not tested: the target only uses statements that the
manuals of all these versions document.

`dsn_string` is `user:password@tcp(host:port)/database?parameter=value`, as in MinIO. An IPv6
address is in brackets. The password is not escaped; the database name is percent-encoded (`/` is
`%2F`). These parameters of Go's driver count. Those about reading rows and size, such as
`parseTime`, are taken without effect; system variables are refused:

* `tls`: default `false`; `true` verifies the server with `cert_authority` or the system's CAs,
  `skip-verify` accepts any certificate, `preferred` also an unencrypted server. With
  `cert_authority` or `client_cert` the connection always uses TLS, and with `cert_authority` it is
  always verified
* `timeout`: connect timeout; default and maximum 5 s
* `readTimeout`, `writeTimeout`: for one read or write; a transaction takes at most 20 s anyway
* `allowCleartextPasswords`: `true` allows the server to ask for the password in clear text

MinIO's deprecated keys `host`, `port`, `username`, `password` and `database` still work, with a
note; if both are given, `dsn_string` is used.

With `auth = iam`, the function's role logs in to [Amazon RDS, Aurora or RDS Proxy](../aws/rds.md),
and the server is verified, whatever `tls` says.

Missing tables are created as MinIO creates them; tables that MinIO filled can be used. `table` is a
name or `database.table`, in backquotes if it contains more than letters, digits, _ and $:

* `namespace`: `key_name VARCHAR(3072), key_hash CHAR(64), value JSON`, with a row for each object
  in the bucket and the value `{"Records": [event]}`, whatever the order, batching or repetition of
  deliveries, and the number of connections. The hash is a generated column, with the primary key,
  or on MariaDB a unique key, so keys of 1,024 bytes fit, and case and trailing spaces are
  significant. The table `<table>_guard` keeps removals, and events that create no object, for 104
  days after a key's last one. In a cluster, all writers must use the same server.
* `access`: `event_time DATETIME NOT NULL, event_data JSON`. Rows are only appended; the time is UTC
  in whole seconds, the record has milliseconds. A repeated delivery adds a second row.

A batch is one transaction, without rows that are refused, or locked for 3 s; before MySQL 8 and
MariaDB 10.6, which cannot tell locked rows, the whole batch is tried again.

The user needs INSERT on the table; for `namespace` also SELECT, UPDATE and DELETE on the table, and
all four on the guard; and CREATE if a table is to be created. Supported logins are
`mysql_native_password`, `caching_sha2_password` and `sha256_password`.
"""

import struct
from collections.abc import Sequence
from types import ModuleType
from typing import ClassVar

from bucketcast.errors import DeliveryError
from bucketcast.event import Event
from bucketcast.mirror.registers import RegisterUpdate
from bucketcast.targets import base
from bucketcast.targets.base import iam
from bucketcast.targets.base.answers import TooLargeError
from bucketcast.targets.base.mirror import SWEEP_SECONDS
from bucketcast.targets.base.tables import TableTarget
from bucketcast.targets.mysql import mirror, sql, state, tables
from bucketcast.targets.mysql.answers import ANSWERS
from bucketcast.targets.mysql.client import Client, tls_context, upgrade
from bucketcast.targets.mysql.names import Names
from bucketcast.targets.mysql.settings import MysqlSettings, dsn

_LOGIN = (
    "another password, from another host, over TLS (tls=true in dsn_string) or with a client_cert?"
)


class Target(TableTarget[Client]):
    """One connection, one transaction a batch."""

    arn_type: ClassVar[str] = "mysql"
    client: ClassVar[str] = "pymysql"
    answers = ANSWERS
    reader: ClassVar[ModuleType] = state
    Settings = MysqlSettings
    settings: MysqlSettings

    def __init__(self, settings: MysqlSettings) -> None:
        super().__init__(settings)
        self._names = Names.of(settings.table, settings.format)

    def endpoints(self) -> list[base.Endpoint]:
        address = dsn(self.settings)
        return [
            base.Endpoint(address.host, address.port, tls_context(address, self.settings), upgrade)
        ]

    def probe(self) -> None:
        form = self.settings.format
        with self._session() as connection:
            names = self._names
            table = tables.find(connection, names, form)
            guard = form == "namespace" and tables.find_guard(connection, names)
            connection.execute(sql.dry_runs(names, form, table=table, guard=guard))
            connection.rollback()

    def _find(self, connection: Client) -> Names | None:
        return self._names if tables.find(connection, self._names, "namespace") else None

    def _prepare(self, connection: Client) -> None:
        tables.create_missing(connection, self._names, self.settings.format)

    def _execute(
        self, connection: Client, events: Sequence[Event], entries: Sequence[RegisterUpdate]
    ) -> DeliveryError | None:
        items = [mirror.make_item(entry) for entry in entries]
        rows = [item.row for item in items] or [sql.log_row(event, self.shape) for event in events]
        size, largest = max(map(len, rows)), connection.packet - sql.STATEMENT_OVERHEAD
        if size > largest:
            return TooLargeError(
                f"the event takes {size} bytes, but max_allowed_packet leaves {largest}: set a "
                "larger one at the server"
            )
        if items:
            mirror.deliver(connection, self._names, items)
        else:
            connection.execute(sql.append(self._names, rows))
            connection.commit()
        return None

    def _locked_keys(self, keys: Sequence[str]) -> list[str]:
        with self._session() as connection:
            return mirror.locked_keys(connection, self._names, keys)

    def _sweep(self, limit: int) -> int:
        with self._session(SWEEP_SECONDS) as connection:
            return connection.change(sql.sweep(self._names, limit))

    def _address(self) -> str:
        return dsn(self.settings).where

    def _raised(self) -> tuple[type[BaseException], ...]:
        from pymysql import MySQLError  # noqa: PLC0415 - carried by functions that deliver

        not_mysql = (IndexError, TypeError, ValueError, struct.error) if self._open is None else ()
        return (MySQLError, OSError, *not_mysql)

    def _hints(self) -> dict[str, str]:
        return {"login": iam.HINT if self.settings.by_iam else _LOGIN}

    def _connect(self) -> Client:
        return Client(dsn(self.settings), self.settings, self.timeout)
