"""PostgreSQL 10 or newer: a table that mirrors the bucket, or a table with a row per event.

`connection_string` is that of Go's lib/pq, as with MinIO: `host=… dbname=… user=…` or a
`postgresql://` URL. Several hosts are separated by commas and tried in their order;
`target_session_attrs=read-write` passes over those that take no writes. `sslmode` is `disable`,
`require` (the default: encrypted, but the server is not verified), `verify-ca` or `verify-full`.
With `cert_authority` it is `verify-full`, and nothing below `verify-ca` is accepted; without it,
the system's CAs count. Certificates are options, and `sslrootcert`, `sslcert` and `sslkey` are
refused, as are `service`, `passfile`, `hostaddr` and Unix sockets. Connecting takes at most 5 s,
and `connect_timeout` has no effect.
Any other name is a setting of the session, such as `search_path`; the default `statement_timeout`
is 15 s. `channel_binding` is `prefer` (the default), `require` or `disable`. A connection pooler
must use session pooling (PgBouncer: `pool_mode = session`).

MinIO's deprecated keys `host`, `port`, `username`, `password` and `database` still work, with a
note. They supply what `connection_string` leaves out; so it may be `sslmode=disable` alone.

With `auth = iam`, the function's role logs in to [Amazon RDS, Aurora or RDS Proxy](../aws/rds.md),
and the server is verified (`sslmode=verify-full`), whatever the string says.

Missing tables are created as MinIO creates them; tables that MinIO filled can be used:

* `namespace`: `key VARCHAR PRIMARY KEY, value JSONB`, with a row for each object in the bucket and
  the value `{"Records": [event]}`, whatever the order, batching or repetition of deliveries, and
  the number of connections. The table `<table>_guard`, in the same schema, keeps removals, and
  events that create no object, for 104 days after a key's last one.
* `access`: `event_time TIMESTAMP WITH TIME ZONE NOT NULL, event_data JSONB`. Rows are only
  appended; a repeated delivery adds a second row.

A batch is one transaction, without rows that are refused, or locked for 3 s. The codes below are
SQLSTATEs or their classes.

The user needs CONNECT and TEMPORARY on the database and INSERT on the table; for `namespace` also
SELECT, UPDATE and DELETE on the table, and all four on the guard; and CREATE on the schema if a
table is to be created.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from types import ModuleType
from typing import ClassVar

from bucketcast.errors import DeliveryError, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.mirror.registers import Register, RegisterUpdate
from bucketcast.targets import base
from bucketcast.targets.base.mirror import SWEEP_SECONDS
from bucketcast.targets.base.tables import TableTarget
from bucketcast.targets.postgres import mirror, sql, state
from bucketcast.targets.postgres.answers import ANSWERS
from bucketcast.targets.postgres.client import Client, connect, tls_context, upgrade
from bucketcast.targets.postgres.settings import PostgresSettings, login

ROWS_PER_PART = 100


class Target(TableTarget[Client]):
    """One connection, one transaction a batch."""

    arn_type: ClassVar[str] = "postgresql"
    client: ClassVar[str] = "pg8000"
    answers = ANSWERS
    reader: ClassVar[ModuleType] = state
    Settings = PostgresSettings
    settings: PostgresSettings

    def __init__(self, settings: PostgresSettings) -> None:
        super().__init__(settings)
        self._names = sql.Names.of(settings.table)

    def endpoints(self) -> list[base.Endpoint]:
        parsed = login(self.settings)
        context = tls_context(parsed, self.settings)
        return [base.Endpoint(host, port, context, upgrade) for host, port in parsed.servers]

    def login(self) -> None:
        with self._session() as connection:
            connection.execute("select 1")  # a pooler accepts a login before it has a server

    def probe(self) -> None:
        with self._session() as connection:
            names = self._find(connection) or self._names
            rights = sql.REQUIRED_RIGHTS[self.settings.format]
            needed = (names.table, names.guard) if self.keeps_rows else (names.table,)
            missing = [
                right
                for table in needed
                for right in sql.missing_rights(connection, names.schema, table, rights)
            ]
        if missing:
            reason = f"the user of connection_string lacks {', '.join(missing)}"
            raise Retryable.hinted(reason, _grants(missing, login(self.settings).user), ": ")

    def _execute(
        self, connection: Client, events: Sequence[Event], entries: Sequence[RegisterUpdate]
    ) -> DeliveryError | None:
        if any("\0" in entry.key for entry in entries):
            return Rejected.anywhere(
                "the key holds a NUL character, which PostgreSQL's text cannot"
            )
        if entries:
            connection.copy(sql.COPY_TO_STAGE, _parts(map(sql.stage_row, entries)))
            only_puts = all(entry.register is Register.PUT and not entry.seen for entry in entries)
            connection.execute(sql.JOIN_PUTS if only_puts else sql.JOIN)
        else:
            rows = (sql.log_row(event, self.shape) for event in events)
            connection.copy(sql.append(self._names), _parts(rows))
        return None

    def _locked_keys(self, keys: Sequence[str]) -> list[str]:
        with self._session() as connection:
            self._prepare_once(connection)
            connection.execute(sql.begin_as_a_writer(self._names))
            locked = connection.query(sql.locked(self._names), list(keys))
            connection.rollback()
        return [key for (key,) in locked]

    def _find(self, connection: Client) -> sql.Names | None:
        settings = self.settings
        expected = sql.COLUMNS[settings.format]
        schema, columns = sql.columns(connection, settings.table)
        if not schema:
            return None
        if not expected.items() <= columns.items():
            has, needs = (", ".join(map(" ".join, each.items())) for each in (columns, expected))
            raise Retryable(
                f"table {settings.table} has the columns {has}, while format {settings.format} "
                f"needs {needs}: set the other format, name another table or move this one away"
            )
        if self.keeps_rows:
            for index in sql.other_unique_indexes(connection, settings.table):
                raise Retryable(
                    f"{settings.table} has the unique index {index}, by which several objects "
                    f"could be one row: drop index {index}"
                )
        return sql.Names.of(settings.table, schema)

    def _prepare(self, connection: Client) -> None:
        connection.execute(sql.SET_SESSION)
        names = self._find(connection)
        if not names or (self.keeps_rows and not sql.columns(connection, names.guard)[0]):
            names = _create_tables(connection, self.settings)
        if self.keeps_rows:
            connection.execute(sql.CREATE_STAGE)
            connection.execute(mirror.create_join(names))
        self._names = names

    def _sweep(self, limit: int) -> int:
        with self._session(SWEEP_SECONDS) as connection:
            self._prepare_once(connection)
            return connection.execute(sql.sweep(self._names, limit))

    def _address(self) -> str:
        return login(self.settings).where

    def _raised(self) -> tuple[type[BaseException], ...]:
        from pg8000 import Error  # noqa: PLC0415 - carried by functions that deliver

        return Error, OSError

    def _connect(self) -> Client:
        return connect(login(self.settings), self.settings)


def _grants(missing: Sequence[str], user: str) -> str:
    """Return the hint for missing rights, as SQL if possible."""
    by_table: dict[str, list[str]] = {}
    for right_on_table in missing:
        right, _, table = right_on_table.partition(" on ")
        if right != "CREATE":
            by_table.setdefault(table, []).append(right)
    steps = [
        f"GRANT {', '.join(rights)} ON {table} TO {user}" for table, rights in by_table.items()
    ]
    if any(right_on_table.startswith("CREATE ") for right_on_table in missing):
        steps.append(f"make the table, or let {user} make it: GRANT CREATE ON SCHEMA … TO {user}")
    return f"grant it: {'; '.join(steps)}"


def _create_tables(connection: Client, settings: PostgresSettings) -> sql.Names:
    """Create missing tables, one connection at a time; return their names."""
    connection.execute(sql.LOCK_CREATION)
    schema, _ = sql.columns(connection, settings.table)
    if not schema:
        connection.execute(sql.table(settings.table, settings.format))
        schema, _ = sql.columns(connection, settings.table)
    names = sql.Names.of(settings.table, schema)
    if settings.format == "namespace" and not sql.columns(connection, names.guard)[0]:
        connection.execute(sql.guard(names))
    connection.execute("commit")
    return names


def _parts(rows: Iterator[sql.Row]) -> Iterator[bytes]:
    """Yield rows in parts, so that the server reads one while the next is built."""
    while part := b"".join(chain.from_iterable(islice(rows, ROWS_PER_PART))):
        yield part
