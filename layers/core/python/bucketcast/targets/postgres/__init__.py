"""PostgreSQL 10 or newer: a table that mirrors the bucket, or one that grows by a row an event.

Options are MinIO's, in `PostgresSettings`. The login is libpq's: `host=… dbname=… user=…` or a
`postgresql://` URL, whose every parameter works. Unless it says otherwise, `sslmode` is `require`,
as with MinIO (a server without TLS needs `disable`), or `verify-full` once `cert_authority` is set,
which accepts nothing less than `verify-ca`; `verify-full` without it trusts the system's
authorities. `connect_timeout` is 5 s and `statement_timeout` 15 s. A pooler between must keep
sessions (PgBouncer: `pool_mode = session`).

MinIO's older keys `host`, `port`, `username`, `password` and `database` still make a login, with a
note that asks for `connection_string`. Beside one they give what it does not say, so that
`sslmode=disable` may stand there alone; where both say the same, `connection_string` wins.

Tables are made when absent, as MinIO makes them; those that MinIO filled are carried on:

* `namespace`: `key VARCHAR PRIMARY KEY, value JSONB`, a row for each object in the bucket, its
  value `{"Records": [event]}`. Any order, split and repetition of deliveries, over any number of
  connections, ends in the same rows (`bucketcast.namespace` has the rules). What that takes stands
  beside, in `<table>_guard`: what is known of a key since it saw a removal or an event that makes
  no object, for 104 days from the last one; and of each bucket, for good, whether Amazon S3, MinIO
  or Ceph writes of it (`bucketcast.claims`).
* `access`: `event_time TIMESTAMP WITH TIME ZONE NOT NULL, event_data JSONB`, only ever appended
  to. A repeated delivery is a second row.

A batch is one transaction, so nothing is ever half done. An event that the database will never
take (a NUL in its key, a constraint) is rejected alone, its neighbours are delivered.

The user needs CONNECT and TEMPORARY on the database; INSERT on the table, for `namespace` SELECT,
UPDATE and DELETE too, on the guard as well; CREATE on the schema where a table is to be made. The
guard is looked for and made in the schema of its table.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from threading import RLock
from typing import TYPE_CHECKING, ClassVar, Literal

from bucketcast.claims import Claims
from bucketcast.errors import DeliveryError, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.held import Held, Known
from bucketcast.namespace import Entry, Register, fold
from bucketcast.options import Secret, option
from bucketcast.targets import base
from bucketcast.targets.postgres import connection as link
from bucketcast.targets.postgres import held, join, login, sql

if TYPE_CHECKING:
    import psycopg

SWEEP_EVERY = 3600.0
ROWS_A_PART = 100
_LONGEST_NAME = 63  # bytes; PostgreSQL cuts what is longer
_NAME = re.compile(r'"([^"\0]+)"|([^\W\d][\w$]*)')
_ABOUT_A_ROW = ("22", "23", "54", "P0")


@dataclass(frozen=True, kw_only=True)
class PostgresSettings(base.Common, base.Tls):
    """MinIO's `notify_postgres`."""

    connection_string: Secret = option(
        "the login, as libpq reads it: a key=value list or a URL; sslmode is require unless it "
        "says otherwise",
        default="",
        example=login.EXAMPLE,
    )
    table: str = option("the table to fill; made when absent", example="bucketevents")
    format: Literal["namespace", "access"] = option(
        "namespace: a row an object, changed and deleted with it; access: a row an event",
        default="namespace",
    )
    max_open_connections: int = option(
        "connections at most, one for each running instance of the function; 0 for no limit",
        default="2",
    )
    host: str = option("deprecated: the server, where connection_string names none", default="")
    port: int = option("deprecated: its port, 5432 unless given", default="")
    username: str = option("deprecated: who logs in, where connection_string does not", default="")
    password: Secret = option("deprecated: the password of username", default="")
    database: str = option("deprecated: the database, called username unless given", default="")


class Target(base.Mirror):
    """One connection, one transaction a batch."""

    arn_type: ClassVar[str] = "postgresql"
    client: ClassVar[str] = "psycopg"
    Settings = PostgresSettings
    patience: ClassVar[float] = 20.0
    """Seconds until a server that says nothing at all is given up."""
    settings: PostgresSettings

    def __init__(self, settings: PostgresSettings) -> None:
        super().__init__(settings)
        self._connection: psycopg.Connection | None = None
        self._names: sql.Names | None = None
        self._sweep_at = 0.0
        self._claims = Claims(f"table {settings.table}", sql.where_claimed(settings.table))
        self._lock = RLock()

    @classmethod
    def check(cls, settings: PostgresSettings) -> list[tuple[str, str, str]]:
        wrong: list[tuple[str, str, str]] = []
        found = _NAME.fullmatch(settings.table)
        guard = sql.GUARD if settings.format == "namespace" else ""
        longest = _LONGEST_NAME - len(guard)
        if not found:
            allowed = 'letters, digits, _ and $ after a letter or _, or any text in "quotes"'
            wrong.append(("table", f"found {settings.table!r}", f"allowed are {allowed}"))
        elif len((found[1] or found[2]).encode()) > longest:
            why = f" (PostgreSQL's {_LONGEST_NAME} less those of {guard})" if guard else ""
            wrong.append(("table", f"found {settings.table!r}", f"at most {longest} bytes{why}"))
        return [*login.mistakes(settings), *wrong, *super().check(settings)]

    @classmethod
    def notes(cls, settings: PostgresSettings) -> list[str]:
        return [*login.notes(settings), *super().notes(settings)]

    @property
    def where(self) -> str:
        return f"{login.where(self.settings)} table {self.settings.table}"

    def send(self, events: Sequence[Event]) -> base.Failures:
        failures: dict[int, DeliveryError] = {}
        places = list(range(len(events)))
        with self._lock:
            if self._mirrors:
                nul = Rejected("the key holds a NUL character, which PostgreSQL's text cannot")
                failures.update(self._claims.refused(events, self._claim))
                failures.update((place, nul) for place in places if "\0" in events[place].key)
                places = [place for place in places if place not in failures]
            self._deliver(events, places, failures)
        return failures

    def probe(self) -> None:
        with self._lock, self._session() as connection:
            connection.execute(b"select 1")
            names = _found(connection, self.settings) or sql.Names.of(self.settings.table)
            rights = sql.RIGHTS[self.settings.format]
            needed = (names.table, names.guard) if self._mirrors else (names.table,)
            lacks = [
                each
                for table in needed
                for each in sql.lacking(connection, names.schema, table, rights)
            ]
        if lacks:
            raise Retryable(f"the user of connection_string lacks {', '.join(lacks)}: grant it")

    def shares(self, count: int) -> list[str]:
        with self._lock, self._session() as connection:
            names = _found(connection, self.settings)
            return held.shares(connection, names, count) if names else []

    def held(self, share: str, prefix: str) -> Iterator[Held]:
        with self._connected() as connection:
            watched = partial(link.watched, connection, self.patience * base.READING)
            names = sql.Names.of(self.settings.table)
            yield from held.rows(connection, names, share, prefix, watched)

    def known(self, paths: Sequence[str]) -> dict[str, Known]:
        with self._lock, self._session() as connection:
            names = _found(connection, self.settings)
            return held.of(connection, names, paths) if names else {}

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = self._names = None
            self._claims.forget()

    @property
    def _mirrors(self) -> bool:
        return self.settings.format == "namespace"

    def _claim(self, wanted: Mapping[str, str]) -> Mapping[str, str]:
        with self._session() as connection:
            return sql.claim(connection, self._prepared(connection), wanted)

    def _deliver(
        self, events: Sequence[Event], places: list[int], failures: dict[int, DeliveryError]
    ) -> None:
        """Write what stands at these places, halving where a row is refused until it is alone."""
        try:
            self._write([events[place] for place in places])
        except _RowRefusedError as refused:
            if len(places) == 1:
                failures[places[0]] = refused.reason
                return
            half = len(places) // 2
            self._deliver(events, places[:half], failures)
            self._deliver(events, places[half:], failures)
        except DeliveryError as error:
            if len(places) == len(events):
                raise
            failures.update(dict.fromkeys(places, error))

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
                if (error.sqlstate or "")[:2] not in _ABOUT_A_ROW:
                    raise
                reason = link.translated(error)
            else:
                return
            connection.rollback()
            raise _RowRefusedError(reason)

    def _join(self, connection: "psycopg.Connection", entries: Sequence[Entry]) -> None:
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
                connection.execute(join.function(names))
            self._names = names
        if self._mirrors and time.monotonic() > self._sweep_at:
            swept = connection.execute(sql.sweep(self._names)).rowcount
            if swept < sql.SWEPT:
                self._sweep_at = time.monotonic() + SWEEP_EVERY
        return self._names

    @contextmanager
    def _session(self) -> "Iterator[psycopg.Connection]":
        """The connection, of which no use lasts longer than `patience`."""
        with self._connected() as connection, link.watched(connection, self.patience):
            yield connection

    @contextmanager
    def _connected(self) -> "Iterator[psycopg.Connection]":
        """The connection; what goes wrong with it is said in our words, and it is closed."""
        from psycopg import Error  # noqa: PLC0415

        try:
            if self._connection is not None and link.has_ended(self._connection):
                self.close()
            if self._connection is None:
                parameters = login.parameters(self.settings)
                self._connection = link.connect(parameters, self.settings)
            yield self._connection
        except _RowRefusedError:
            raise
        except Error as error:
            self.close()
            reason = link.translated(error)
            raise Retryable(str(reason)) if isinstance(reason, Rejected) else reason from error
        except BaseException:
            self.close()
            raise


class _RowRefusedError(Exception):
    """The server refused a row of a batch, and not the batch."""

    def __init__(self, reason: DeliveryError) -> None:
        super().__init__(str(reason))
        self.reason = reason


def _found(connection: "psycopg.Connection", settings: PostgresSettings) -> sql.Names | None:
    """The table by its full name, if it is there.

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
    """The tables, made where absent: by one connection at a time, as two would collide."""
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
