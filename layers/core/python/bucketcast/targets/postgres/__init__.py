"""PostgreSQL 10 or newer: a table that mirrors the bucket, or a table with a row per event.

Options are MinIO's. `connection_string` is libpq's: `host=… dbname=… user=…` or a `postgresql://`
URL, with any of libpq's parameters. The default `sslmode` is `require`, as with MinIO (a server
without TLS needs `disable`). With `cert_authority` it is `verify-full`, and nothing below
`verify-ca` is accepted; `verify-full` without `cert_authority` trusts the system's CAs. The default
`connect_timeout` is 5 s, and `statement_timeout` 15 s. A connection pooler must use session
pooling (PgBouncer: `pool_mode = session`).

MinIO's deprecated keys `host`, `port`, `username`, `password` and `database` still work, with a
note that recommends `connection_string`. If both are given, `connection_string` wins, and the older
keys supply what it leaves out; so it may be `sslmode=disable` alone.

With `auth = iam`, the function's role logs in to Amazon RDS, Aurora or RDS Proxy without a password
(docs/aws/rds.md). Then the server is verified (`sslmode=verify-full`), whatever the string says.

Missing tables are created as MinIO creates them; tables that MinIO filled can be used:

* `namespace`: `key VARCHAR PRIMARY KEY, value JSONB`, with a row for each object in the bucket and
  the value `{"Records": [event]}`. The result does not depend on the order, batching or repetition
  of deliveries, or on the number of connections (`bucketcast.namespace` has the rules). The table
  `<table>_guard` holds the state that this needs: for each key with a removal, or with an event
  that creates no object, what is known of it, for 104 days after the last such event; and for each
  bucket, permanently, whether its events come from Amazon S3, MinIO or Ceph
  (`bucketcast.namespace.claims`).
* `access`: `event_time TIMESTAMP WITH TIME ZONE NOT NULL, event_data JSONB`. Rows are only
  appended; a repeated delivery adds a second row.

A batch is one transaction. If the database refuses a row permanently (a NUL in its key, a
constraint), that event is rejected and the others are written.

The user needs CONNECT and TEMPORARY on the database and INSERT on the table; for `namespace` also
SELECT, UPDATE and DELETE on the table, and all four on the guard; and CREATE on the schema if a
table is to be created. The guard is in the schema of its table.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, ClassVar

from bucketcast.errors import DeliveryError, NotConnected, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.namespace.claims import Claims
from bucketcast.namespace.registers import Register, RegisterUpdate, fold
from bucketcast.namespace.rows import MergedState, StoredRow
from bucketcast.targets import base
from bucketcast.targets.postgres import client, mirror, sql, state
from bucketcast.targets.postgres.errors import ABOUT_A_ROW, delivery_error
from bucketcast.targets.postgres.settings import PostgresSettings, parameters, where

if TYPE_CHECKING:
    import psycopg

SWEEP_EVERY = 3600.0
ROWS_A_PART = 100


class Target(base.Connected["psycopg.Connection"], base.Mirror):
    """One connection, one transaction a batch."""

    arn_type: ClassVar[str] = "postgresql"
    client: ClassVar[str] = "psycopg"
    Settings = PostgresSettings
    timeout: ClassVar[float] = 20.0
    """Seconds until a server that says nothing at all is given up."""
    settings: PostgresSettings

    def __init__(self, settings: PostgresSettings) -> None:
        super().__init__(settings)
        self._names: sql.Names | None = None
        self._sweep_at = 0.0
        self._claims = Claims(f"table {settings.table}", sql.where_claimed(settings.table))

    @property
    def where(self) -> str:
        return f"{where(self.settings)} table {self.settings.table}"

    def send(self, events: Sequence[Event]) -> base.Failures:
        failures: dict[int, DeliveryError] = {}
        indexes = list(range(len(events)))
        with self._lock:
            if self._mirrors:
                nul = Rejected("the key holds a NUL character, which PostgreSQL's text cannot")
                failures.update(self._claims.refused(events, self._claim))
                failures.update((index, nul) for index in indexes if "\0" in events[index].key)
                indexes = [index for index in indexes if index not in failures]
            self._deliver(events, indexes, failures)
        return failures

    def endpoints(self) -> list[base.Endpoint]:
        return client.endpoints(parameters(self.settings), self.settings)

    def login(self) -> None:
        with self._lock, self._session() as connection:
            connection.execute(b"select 1")

    def probe(self) -> None:
        with self._lock, self._session() as connection:
            names = _found(connection, self.settings) or sql.Names.of(self.settings.table)
            rights = sql.RIGHTS[self.settings.format]
            needed = (names.table, names.guard) if self._mirrors else (names.table,)
            lacks = [
                each
                for table in needed
                for each in sql.lacking(connection, names.schema, table, rights)
            ]
        if lacks:
            lacking = f"the user of connection_string lacks {', '.join(lacks)}"
            raise Retryable.hinted(lacking, _grants(lacks, parameters(self.settings)), ": ")

    def partitions(self, count: int) -> list[str]:
        with self._lock, self._session() as connection:
            names = _found(connection, self.settings)
            return state.partitions(connection, names, count) if names else []

    def stored_rows(self, partition: str, prefix: str) -> Iterator[StoredRow]:
        with self._translating() as connection:
            watched = partial(client.watched, connection, self.timeout * base.READING)
            names = sql.Names.of(self.settings.table)
            yield from state.rows(connection, names, partition, prefix, watched)

    def merged_states(self, paths: Sequence[str]) -> dict[str, MergedState]:
        with self._lock, self._session() as connection:
            names = _found(connection, self.settings)
            return state.of(connection, names, paths) if names else {}

    @property
    def _mirrors(self) -> bool:
        return self.settings.format == "namespace"

    def _claim(self, wanted: Mapping[str, str]) -> Mapping[str, str]:
        with self._session() as connection:
            return sql.claim(connection, self._prepared(connection), wanted)

    def _deliver(
        self, events: Sequence[Event], indexes: list[int], failures: dict[int, DeliveryError]
    ) -> None:
        """Write what stands at these indexes, halving where a row is refused until it is alone.

        Halving ends with the connection, and after `timeout`: what is left then comes again.
        """
        end = time.monotonic() + self.timeout
        waiting = [indexes]
        while waiting:
            part = waiting.pop()
            try:
                self._write([events[index] for index in part])
            except _RowRefusedError as refused:
                if len(part) == 1:
                    failures[part[0]] = refused.reason
                else:
                    half = len(part) // 2
                    waiting += [part[half:], part[:half]]
            except DeliveryError as error:
                if len(part) == len(events):
                    raise
                failures.update(dict.fromkeys(part, error))
                if isinstance(error, NotConnected):
                    failures.update(dict.fromkeys(chain.from_iterable(waiting), error))
                    return
            if waiting and time.monotonic() > end:
                late = Retryable(f"not tried: finding refused rows took {self.timeout:g} s")
                failures.update(dict.fromkeys(chain.from_iterable(waiting), late))
                return

    def _write(self, events: Sequence[Event]) -> None:
        """One transaction.

        Raises:
            _RowRefusedError: these events hold one that the server refused.
        """
        from psycopg import Error  # noqa: PLC0415 - only who delivers carries the client

        entries = fold(events) if self._mirrors else []
        if self._mirrors and not entries:
            return
        with self._session() as connection:
            names = self._prepared(connection)
            try:
                if self._mirrors:
                    self._join(connection, entries)
                else:
                    rows = (sql.appended(event, self.shape) for event in events)
                    _copy(connection, sql.append(names), rows)
            except UnicodeEncodeError as error:
                reason: DeliveryError = Rejected(f"its text is not Unicode: {error}")
            except Error as error:
                if (error.sqlstate or "")[:2] not in ABOUT_A_ROW:
                    raise
                reason = delivery_error(error)
            else:
                return
            connection.rollback()
            raise _RowRefusedError(reason)

    def _join(self, connection: "psycopg.Connection", entries: Sequence[RegisterUpdate]) -> None:
        connection.execute(b"begin")
        _copy(connection, sql.STAGE, map(sql.staged, entries))
        only_puts = all(entry.register is Register.PUT for entry in entries)
        connection.execute(sql.JOIN_PUTS if only_puts else sql.JOIN)

    def _prepared(self, connection: "psycopg.Connection") -> sql.Names:
        """The tables, made where absent, and what a connection needs once; swept now and then.

        While there is more to sweep than a part, a part goes with each batch.
        """
        if self._names is None:
            connection.execute(sql.START)
            names = _found(connection, self.settings)
            if not names or (self._mirrors and not sql.columns(connection, names.guard)[0]):
                names = _made(connection, self.settings)
            if self._mirrors:
                connection.execute(sql.STAGED)
                connection.execute(mirror.function(names))
            self._names = names
        if self._mirrors and time.monotonic() > self._sweep_at:
            swept = connection.execute(sql.sweep(self._names)).rowcount
            if swept < sql.SWEPT:
                self._sweep_at = time.monotonic() + SWEEP_EVERY
        return self._names

    @contextmanager
    def _session(self) -> "Iterator[psycopg.Connection]":
        """The connection, of which no use lasts longer than `timeout`."""
        with self._translating() as connection, client.watched(connection, self.timeout):
            yield connection

    @contextmanager
    def _translating(self) -> "Iterator[psycopg.Connection]":
        """Lend the connection, and raise what goes wrong with it as delivery errors."""
        from psycopg import Error  # noqa: PLC0415

        refused = None
        try:
            with self._connection() as connection:
                try:
                    yield connection
                except _RowRefusedError as error:  # the connection can be used again
                    refused = error
        except Error as error:
            reason = delivery_error(error)
            raise Retryable(str(reason)) if isinstance(reason, Rejected) else reason from error
        if refused:
            raise refused

    def _connect(self) -> "psycopg.Connection":
        return client.connect(parameters(self.settings), self.settings)

    def _is_usable(self, connection: "psycopg.Connection") -> bool:
        return not client.has_ended(connection)

    def _drop(self) -> None:
        super()._drop()
        self._names = None
        self._claims.forget()


def _grants(lacks: Sequence[str], login: Mapping[str, str]) -> str:
    """Return what to do about lacking rights, as SQL where that is known."""
    by_table: dict[str, list[str]] = {}
    for each in lacks:
        right, _, where = each.partition(" on ")
        if right != "CREATE":
            by_table.setdefault(where, []).append(right)
    user = login.get("user", "USER")
    said = [f"GRANT {', '.join(rights)} ON {table} TO {user}" for table, rights in by_table.items()]
    if any(each.startswith("CREATE ") for each in lacks):
        said.append(f"make the table, or let {user} make it: GRANT CREATE ON SCHEMA … TO {user}")
    return f"grant it: {'; '.join(said)}"


class _RowRefusedError(Exception):
    """The server refused a row of a batch, and not the batch."""

    def __init__(self, reason: DeliveryError) -> None:
        super().__init__(str(reason))
        self.reason = reason


def _found(connection: "psycopg.Connection", settings: PostgresSettings) -> sql.Names | None:
    """Return the table by its full name, if it is there.

    Raises:
        Retryable: the table has other columns.
    """
    wanted = sql.COLUMNS[settings.format]
    schema, columns = sql.columns(connection, settings.table)
    if not schema:
        return None
    if not wanted.items() <= columns.items():
        has, needs = (", ".join(map(" ".join, each.items())) for each in (columns, wanted))
        raise Retryable(
            f"table {settings.table} has the columns {has}, while format {settings.format} needs "
            f"{needs}: set the other format, name another table or move this one away"
        )
    return sql.Names.of(settings.table, schema)


def _made(connection: "psycopg.Connection", settings: PostgresSettings) -> sql.Names:
    """Return the tables, made where absent: by one connection at a time, as two would collide."""
    with connection.transaction():
        connection.execute(sql.ALONE)
        schema, _ = sql.columns(connection, settings.table)
        if not schema:
            connection.execute(sql.table(settings.table, settings.format))
            schema, _ = sql.columns(connection, settings.table)
        names = sql.Names.of(settings.table, schema)
        if settings.format == "namespace" and not sql.columns(connection, names.guard)[0]:
            connection.execute(sql.guard(names))
    return names


def _copy(connection: "psycopg.Connection", statement: bytes, rows: Iterator[sql.Row]) -> None:
    """Copy rows in parts, so that the server reads one while the next is made."""
    with connection.cursor() as cursor, cursor.copy(statement) as into:
        while part := b"".join(chain.from_iterable(islice(rows, ROWS_A_PART))):
            into.write(part)
