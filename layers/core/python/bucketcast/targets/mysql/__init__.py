"""MySQL 5.7.8 or newer, MariaDB 10.3 or newer: a table that mirrors the bucket, or one that grows.

Options are MinIO's, in `MysqlSettings`. The login is a data source name of Go's driver, as in
MinIO: `user:password@tcp(host:port)/database?parameter=value`, or `unix(/path)` for a socket; an
IPv6 address stands in brackets. A password needs no escape; the database's name and the values do
(`/` is `%2F`). The parameters:

====================================  ==========================================================
tls                                   `false` unless given; `true` verifies the server by
                                      cert_authority or the system's authorities, `skip-verify`
                                      takes any certificate, `preferred` that or none at all.
                                      cert_authority and client_cert are never ignored: with one
                                      the connection is over TLS, with an authority verified
timeout                               of connecting; 5 s unless given, and at the most
readTimeout, writeTimeout             of one wait for the server; 20 s for all of a batch stay
maxAllowedPacket                      bytes of a statement, if less than the server takes
allowCleartextPasswords               lets the server ask for the password in clear text
connectionAttributes                  `program_name:NAME`
any system variable                   is set for the session: `innodb_lock_wait_timeout=5`
charset, collation                    only those of utf8, as it is always utf8mb4
loc                                   only UTC, the time zone of event_time
allowFallbackToPlaintext              beside skip-verify only, which makes it `preferred`
allowAllFiles, checkConnLiveness,     accepted: they change nothing that is sent
clientFoundRows, columnsWithAlias,
interpolateParams, multiStatements,
parseTime, rejectReadOnly,
timeTruncate, tinyInt1IsBool
allowNativePasswords=false,           refused: the client has no such thing
allowOldPasswords=true, serverPubKey,
compress=true, other names of tls
====================================  ==========================================================

MinIO's older keys `host`, `port`, `username`, `password` and `database` still make a login, with a
note that asks for `dsn_string`; beside one they do nothing.

Tables are made when absent, as MinIO makes them; those that MinIO filled are carried on. `table` is
a name or `database.table`, in backquotes where it holds more than letters, digits, _ and $:

* `namespace`: `key_name VARCHAR(3072), key_hash CHAR(64), value JSON`, a row for each object in
  the bucket, its value `{"Records": [event]}`. The hash, which the server makes, is the primary
  key, on MariaDB a unique one: keys of 1,024 bytes fit, upper and lower case and trailing spaces
  count. Any order, split and repetition of deliveries, over any number of connections, ends in the
  same rows (`bucketcast.namespace` has the rules). What that takes stands beside, in
  `<table>_guard`: what is known of a key since it saw a removal or an event that makes no object,
  for 104 days from the last one; and of each bucket, for good, whether Amazon S3, MinIO or Ceph
  writes of it (`bucketcast.claims`). All must write to the same server of a cluster.
* `access`: `event_time DATETIME NOT NULL, event_data JSON`, only ever appended to; the time is UTC
  in whole seconds, the record has its milliseconds. A repeated delivery is a second row.

A batch is one transaction, so nothing is ever half done. An event that the database will never
take (a key too long, a constraint) is rejected alone; one that max_allowed_packet keeps out waits
until the server takes more.

The user needs INSERT on the table, for `namespace` SELECT, UPDATE and DELETE too, on the guard as
well; CREATE where a table is to be made. Logins by mysql_native_password, caching_sha2_password and
sha256_password work.

The tests run on MariaDB 10.11. What is said of MySQL rests on its manual: only statements that the
manuals of all these versions have are used.
"""

import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import RLock
from typing import Any, ClassVar, Literal

from bucketcast.claims import Claims
from bucketcast.errors import DeliveryError, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.held import Held, Known
from bucketcast.namespace import fold
from bucketcast.options import Secret, option
from bucketcast.targets import base
from bucketcast.targets.mysql import held, log, login, mirror, sql, tables
from bucketcast.targets.mysql.connection import Connection
from bucketcast.targets.mysql.errors import about_a_row, translated

SWEEP_EVERY = 3600.0
_Item = mirror.Item | log.Item


@dataclass(frozen=True, kw_only=True)
class MysqlSettings(base.Common, base.Tls):
    """MinIO's `notify_mysql`."""

    dsn_string: Secret = option(
        "the login, as Go's driver for MySQL reads it",
        default="",
        example=login.EXAMPLE,
    )
    table: str = option("the table to fill; made when absent", example="minio_images")
    format: Literal["namespace", "access"] = option(
        "namespace: a row an object, changed and deleted with it; access: a row an event",
        default="namespace",
    )
    max_open_connections: int = option(
        "connections at most, one for each running instance of the function; 0 for no limit",
        default="2",
    )
    host: str = option("deprecated: the server, where there is no dsn_string", default="")
    port: int = option("deprecated: its port, 3306 unless given", default="")
    username: str = option("deprecated: who logs in at host", default="")
    password: Secret = option("deprecated: the password of username", default="")
    database: str = option("deprecated: the database at host", default="")


class Target(base.Mirror):
    """One connection, one transaction a batch."""

    arn_type: ClassVar[str] = "mysql"
    client: ClassVar[str] = "pymysql"
    Settings = MysqlSettings
    patience: ClassVar[float] = 20.0
    """Seconds until a server that is not done with a batch is given up."""
    settings: MysqlSettings

    def __init__(self, settings: MysqlSettings) -> None:
        super().__init__(settings)
        self._connection: Connection | None = None
        self._room = 0
        self._sweep_at = 0.0
        self._claims = Claims(
            f"table {settings.table}",
            f"the row from {self._names.guard} whose key_name is the bucket's name alone",
        )
        self._lock = RLock()

    @classmethod
    def check(cls, settings: MysqlSettings) -> list[tuple[str, str, str]]:
        wrong = list(login.mistakes(settings))
        try:
            sql.Names.of(settings.table, settings.format)
        except ValueError as error:
            wrong.append(("table", f"found {settings.table!r}", str(error)))
        return wrong + super().check(settings)

    @classmethod
    def notes(cls, settings: MysqlSettings) -> list[str]:
        return [*login.notes(settings), *super().notes(settings)]

    @property
    def where(self) -> str:
        return f"{login.where(self.settings)} table {self.settings.table}"

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
                        left = {place for item in items for place in item.places}
                        for part, reason in self._deliver(connection, names, items):
                            left.difference_update(place for item in part for place in item.places)
                            if reason is None:
                                arrived.update(place for item in part for place in item.places)
                            else:
                                failures.update(_blamed(part, events, reason))
            except DeliveryError as error:
                failures.update(dict.fromkeys(left, error))
        return failures

    def probe(self) -> None:
        form = self.settings.format
        with self._lock, self._session() as connection:
            names = self._names
            there = tables.find(connection, names, form)
            guard = form == "namespace" and tables.find_guard(connection, names)
            guard = guard and not tables.is_earlier(connection, names)
            connection.say(sql.trials(names, form, table=there, guard=guard))
            connection.rollback()

    def shares(self, count: int) -> list[str]:
        with self._lock, self._session() as connection:
            there = tables.find(connection, self._names, "namespace")
        return held.shares(count) if there else []

    def held(self, share: str, prefix: str) -> Iterator[Held]:
        with self._connected() as connection:
            watched = partial(connection.watched, self.patience * base.READING)
            yield from held.rows(connection, self._names, share, prefix, watched)

    def known(self, paths: Sequence[str]) -> dict[str, Known]:
        with self._lock, self._session() as connection:
            if not tables.find(connection, self._names, "namespace"):
                return {}
            return held.of(connection, self._names, paths)

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection, self._room = None, 0
            self._claims.forget()

    @property
    def _names(self) -> sql.Names:
        return sql.Names.of(self.settings.table, self.settings.format)

    def _items(
        self, events: Sequence[Event], failures: dict[int, DeliveryError], arrived: set[int]
    ) -> Iterator[_Item]:
        """What is to be written, without what cannot be, and what is refused or there already."""
        for places, made in self._candidates(events, {*failures, *arrived}):
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
            failures.update(dict.fromkeys(places, reason))

    def _candidates(
        self, events: Sequence[Event], refused: Container[int]
    ) -> Iterator[tuple[Sequence[int], Callable[[], _Item]]]:
        if self.settings.format == "namespace":
            for entry in fold(events, without=refused):
                yield entry.places, partial(mirror.item, entry)
        else:
            for place, event in enumerate(events):
                if place not in refused:
                    yield [place], partial(log.item, place, event, self.shape)

    def _deliver(
        self, connection: Connection, names: sql.Names, items: Sequence[Any]
    ) -> Iterator[tuple[Sequence[_Item], DeliveryError | None]]:
        """Write all, halving where a row is refused until it is alone; say what became of each."""
        from pymysql import MySQLError  # noqa: PLC0415

        write = mirror.deliver if self.settings.format == "namespace" else log.deliver
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
                    yield part, translated(error)
                else:
                    half = len(part) // 2
                    waiting += [part[half:], part[:half]]
            else:
                yield part, None

    def _prepared(self, connection: Connection) -> sql.Names:
        """The tables, made where absent; the guard swept now and then.

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
    def _session(self) -> Iterator[Connection]:
        """The connection, of which no use lasts longer than `patience`."""
        with self._connected() as connection, connection.watched(self.patience):
            yield connection

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """The connection; what goes wrong with it is said in our words, and it is closed."""
        from pymysql import MySQLError  # noqa: PLC0415 - only who delivers carries the client

        try:
            if self._connection is not None and self._connection.has_ended:
                self.close()
            if self._connection is None:
                dsn = login.dsn(self.settings)
                self._connection = Connection(dsn, self.settings, self.patience)
            yield self._connection
        except MySQLError as error:
            self.close()
            reason = translated(error)
            raise Retryable(str(reason)) if isinstance(reason, Rejected) else reason from error
        except BaseException:
            self.close()
            raise


def _blamed(
    part: Sequence[_Item], events: Sequence[Event], reason: DeliveryError
) -> dict[int, DeliveryError]:
    """Whose reason it is: of what was folded into a refused event, the text was not tried."""
    item = part[0]
    if isinstance(reason, Rejected) and isinstance(item, mirror.Item):
        return {item.entry.own(events): reason}
    return {place: reason for each in part for place in each.places}
