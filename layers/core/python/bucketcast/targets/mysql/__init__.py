"""MySQL 5.7.8 or newer, MariaDB 10.3 or newer: a table that mirrors the bucket, or a log of events.

Options are MinIO's. `dsn_string` is a data source name of Go's driver, as in MinIO:
`user:password@tcp(host:port)/database?parameter=value`, or `unix(/path)` for a socket. An IPv6
address is in brackets. The password is not escaped; the database name and the parameter values are
percent-encoded (`/` is `%2F`). The parameters:

====================================  ==========================================================
tls                                   default `false`; `true` verifies the server with
                                      cert_authority or the system's CAs, `skip-verify` accepts
                                      any certificate, `preferred` also an unencrypted server.
                                      With cert_authority or client_cert the connection always
                                      uses TLS, and with cert_authority it is always verified
timeout                               connect timeout; default and maximum 5 s
readTimeout, writeTimeout             for one read or write; a batch is limited to 20 s anyway
maxAllowedPacket                      bytes of a statement, if less than the server's limit
allowCleartextPasswords               allows the server to ask for the password in clear text
connectionAttributes                  `program_name:NAME`
any system variable                   is set for the session: `innodb_lock_wait_timeout=5`
charset, collation                    only those of utf8; always utf8mb4
loc                                   only UTC, the time zone of event_time
allowFallbackToPlaintext              only with skip-verify, which then means `preferred`
allowAllFiles, checkConnLiveness,     accepted without effect
clientFoundRows, columnsWithAlias,
interpolateParams, multiStatements,
parseTime, rejectReadOnly,
timeTruncate, tinyInt1IsBool
allowNativePasswords=false,           refused: not supported
allowOldPasswords=true, serverPubKey,
compress=true, other names of tls
====================================  ==========================================================

MinIO's deprecated keys `host`, `port`, `username`, `password` and `database` still work, with a
note that recommends `dsn_string`; if both are given, `dsn_string` is used.

With `auth = iam`, the function's role logs in to Amazon RDS, Aurora or RDS Proxy without a password
(docs/aws/rds.md). Then the server is verified, whatever `tls` says.

Missing tables are created as MinIO creates them; tables that MinIO filled can be used. `table` is a
name or `database.table`, in backquotes if it contains more than letters, digits, _ and $:

* `namespace`: `key_name VARCHAR(3072), key_hash CHAR(64), value JSON`, with a row for each object
  in the bucket and the value `{"Records": [event]}`. The hash is a generated column, with the
  primary key, or on MariaDB a unique key, so keys of 1,024 bytes fit, and case and trailing spaces
  are significant. The result does not depend on the order, batching or repetition of deliveries, or
  on the number of connections (`bucketcast.namespace` has the rules). The table `<table>_guard`
  holds the state that this needs: for each key with a removal, or with an event that creates no
  object, what is known of it, for 104 days after the last such event; and for each bucket,
  permanently, whether its events come from Amazon S3, MinIO or Ceph
  (`bucketcast.namespace.claims`). In a cluster, all writers must use the same server.
* `access`: `event_time DATETIME NOT NULL, event_data JSON`. Rows are only appended; the time is UTC
  in whole seconds, the record has milliseconds. A repeated delivery adds a second row.

A batch is one transaction. If the database refuses a row permanently (a key too long, a
constraint), that event is rejected and the others are written; an event larger than
max_allowed_packet waits until the limit is raised.

The user needs INSERT on the table; for `namespace` also SELECT, UPDATE and DELETE on the table, and
all four on the guard; and CREATE if a table is to be created. Supported logins are
mysql_native_password, caching_sha2_password and sha256_password.

The tests run on MariaDB 10.11. For MySQL the target relies on its manual, and only uses statements
that the manuals of all these versions document.
"""

import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

from bucketcast.errors import DeliveryError, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.namespace.claims import Claims
from bucketcast.namespace.registers import fold
from bucketcast.namespace.rows import MergedState, StoredRow
from bucketcast.targets import base
from bucketcast.targets.mysql import access, mirror, sql, state, tables
from bucketcast.targets.mysql.client import Client, tls_context
from bucketcast.targets.mysql.errors import about_a_row, delivery_error
from bucketcast.targets.mysql.handshake import upgrade
from bucketcast.targets.mysql.names import Names
from bucketcast.targets.mysql.settings import MysqlSettings, dsn, where

SWEEP_EVERY = 3600.0
_Item = mirror.Item | access.Item


class Target(base.Connected[Client], base.Mirror):
    """One connection, one transaction a batch."""

    arn_type: ClassVar[str] = "mysql"
    client: ClassVar[str] = "pymysql"
    Settings = MysqlSettings
    timeout: ClassVar[float] = 20.0
    """Seconds until a server that is not done with a batch is given up."""
    settings: MysqlSettings

    def __init__(self, settings: MysqlSettings) -> None:
        super().__init__(settings)
        self._room = 0
        self._sweep_at = 0.0
        self._claims = Claims(
            f"table {settings.table}",
            f"the row from {self._names.guard} whose key_name is the bucket's name alone",
        )

    @property
    def where(self) -> str:
        return f"{where(self.settings)} table {self.settings.table}"

    def send(self, events: Sequence[Event]) -> base.Failures:
        failures: dict[int, DeliveryError] = {}
        left = set(range(len(events)))
        if not left:
            return failures
        with self._lock:
            try:
                with self._session() as connection:
                    names = self._prepared(connection)
                    if self.settings.format == "namespace":
                        claim = partial(mirror.claim, connection, names)
                        failures.update(self._claims.refused(events, claim))
                    arrived: set[int] = set()
                    while items := list(self._items(events, failures, arrived)):
                        left = {index for item in items for index in item.indexes}
                        for part, reason in self._deliver(connection, names, items):
                            left.difference_update(index for item in part for index in item.indexes)
                            if reason is None:
                                arrived.update(index for item in part for index in item.indexes)
                            else:
                                failures.update(_blamed(part, events, reason))
            except DeliveryError as error:
                failures.update(dict.fromkeys(left, error))
        return failures

    def endpoints(self) -> list[base.Endpoint]:
        at = dsn(self.settings)
        if at.socket:
            return []
        return [base.Endpoint(at.host, at.port, tls_context(at, self.settings), upgrade)]

    def login(self) -> None:
        with self._lock, self._session():
            pass

    def probe(self) -> None:
        form = self.settings.format
        with self._lock, self._session() as connection:
            names = self._names
            there = tables.find(connection, names, form)
            guard = form == "namespace" and tables.find_guard(connection, names)
            guard = guard and not tables.is_earlier(connection, names)
            connection.say(sql.trials(names, form, table=there, guard=guard))
            connection.rollback()

    def partitions(self, count: int) -> list[str]:
        with self._lock, self._session() as connection:
            there = tables.find(connection, self._names, "namespace")
        return state.partitions(count) if there else []

    def stored_rows(self, partition: str, prefix: str) -> Iterator[StoredRow]:
        with self._translating() as connection:
            watched = partial(connection.watched, self.timeout * base.READING)
            yield from state.rows(connection, self._names, partition, prefix, watched)

    def merged_states(self, paths: Sequence[str]) -> dict[str, MergedState]:
        with self._lock, self._session() as connection:
            if not tables.find(connection, self._names, "namespace"):
                return {}
            return state.of(connection, self._names, paths)

    @property
    def _names(self) -> Names:
        return Names.of(self.settings.table, self.settings.format)

    def _items(
        self, events: Sequence[Event], failures: dict[int, DeliveryError], arrived: set[int]
    ) -> Iterator[_Item]:
        """What is to be written, without what cannot be, and what is refused or there already."""
        for indexes, made in self._candidates(events, {*failures, *arrived}):
            try:
                item = made()
            except UnicodeEncodeError as error:
                reason: DeliveryError = Rejected(f"its text is not Unicode: {error}")
            else:
                if len(item.row) <= self._room:
                    yield item
                    continue
                reason = Retryable(
                    f"the event takes {len(item.row)} bytes, of which max_allowed_packet leaves "
                    f"{self._room}: set a larger one at the server, and in dsn_string if it has one"
                )
            failures.update(dict.fromkeys(indexes, reason))

    def _candidates(
        self, events: Sequence[Event], refused: Container[int]
    ) -> Iterator[tuple[Sequence[int], Callable[[], _Item]]]:
        if self.settings.format == "namespace":
            for entry in fold(events, without=refused):
                yield entry.indexes, partial(mirror.item, entry)
        else:
            for index, event in enumerate(events):
                if index not in refused:
                    yield [index], partial(access.item, index, event, self.shape)

    def _deliver(
        self, connection: Client, names: Names, items: Sequence[Any]
    ) -> Iterator[tuple[Sequence[_Item], DeliveryError | None]]:
        """Write all, halving where a row is refused until it is alone; say what became of each."""
        from pymysql import MySQLError  # noqa: PLC0415

        write = mirror.deliver if self.settings.format == "namespace" else access.deliver
        waiting = [items] if items else []
        while waiting:
            part = waiting.pop()
            try:
                write(connection, names, part)
            except MySQLError as error:
                if not about_a_row(error):
                    raise
                connection.rollback()
                if len(part) == 1:
                    yield part, delivery_error(error)
                else:
                    half = len(part) // 2
                    waiting += [part[half:], part[:half]]
            else:
                yield part, None

    def _prepared(self, connection: Client) -> Names:
        """Return the tables, made where absent; the guard swept now and then.

        While there is more to sweep than a part, a part goes with each batch.
        """
        form, names = self.settings.format, self._names
        if not self._room:
            tables.make(connection, names, form)
            self._room = connection.packet - sql.ROOM
        if form == "namespace" and time.monotonic() > self._sweep_at:
            swept = connection.change(sql.sweep(names))
            connection.commit()
            if swept < sql.SWEPT:
                self._sweep_at = time.monotonic() + SWEEP_EVERY
        return names

    @contextmanager
    def _session(self) -> Iterator[Client]:
        """Lend the connection for `timeout` at most."""
        with self._translating() as connection, connection.watched(self.timeout):
            yield connection

    @contextmanager
    def _translating(self) -> Iterator[Client]:
        """Lend the connection, and raise what goes wrong with it as delivery errors."""
        from pymysql import MySQLError  # noqa: PLC0415 - only who delivers carries the client

        try:
            with self._connection() as connection:
                yield connection
        except MySQLError as error:
            reason = delivery_error(error)
            raise Retryable(str(reason)) if isinstance(reason, Rejected) else reason from error

    def _connect(self) -> Client:
        return Client(dsn(self.settings), self.settings, self.timeout)

    def _is_usable(self, connection: Client) -> bool:
        return not connection.has_ended

    def _drop(self) -> None:
        super()._drop()
        self._room = 0
        self._claims.forget()


def _blamed(
    part: Sequence[_Item], events: Sequence[Event], reason: DeliveryError
) -> dict[int, DeliveryError]:
    """Whose reason it is: of what was folded into a refused event, the text was not tried."""
    item = part[0]
    if isinstance(reason, Rejected) and isinstance(item, mirror.Item):
        return {item.entry.own(events): reason}
    return {index: reason for each in part for index in each.indexes}
