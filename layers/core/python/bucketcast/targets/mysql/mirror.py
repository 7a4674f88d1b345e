"""The format `namespace`: a batch merged with the rows of the database, in one transaction.

The slots of its keys are locked first: shared by batches that only put keys without a guard row,
exclusively by all others. So a put always sees a newer removal of its key, and rows that were read
under the lock do not change until the commit.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from bucketcast.mirror.join import join, keep_row
from bucketcast.mirror.registers import Register, RegisterUpdate
from bucketcast.shapes.minio import records
from bucketcast.targets.mysql import sql, state
from bucketcast.targets.mysql.answers import LOCK_WAIT_TIMEOUT, PARSE_ERROR, number
from bucketcast.targets.mysql.client import Client
from bucketcast.targets.mysql.names import Names

_SLOT_WAITS = 3
"""A slot is waited for so many times `LOCK_SECONDS`: a batch that waits for a row holds its own."""


class Item(NamedTuple):
    """An entry with its value as JSON, its row in SQL, and the `sql.identity` of its key."""

    entry: RegisterUpdate
    value: bytes
    row: bytes
    identity: str


def make_item(entry: RegisterUpdate) -> Item:
    """Return the item of an entry."""
    value = records(entry.event)
    row = sql.row(entry.key.encode(), value)
    return Item(entry, value, row, sql.identity(entry.key))


def deliver(connection: Client, names: Names, items: Sequence[Item]) -> None:
    """Merge items, sorted by key, with the rows, and commit."""
    identities = list(dict.fromkeys(item.identity for item in items))
    if all(item.entry.register is Register.PUT and not item.entry.seen for item in items):
        _lock(connection, names, identities, exclusive=False)
        if not any(
            connection.query(statement) for statement in sql.select_guard(names, identities)
        ):
            # In the order of the index: two batches may put the same keys, and must not deadlock.
            by_identity = sorted(items, key=attrgetter("identity"))
            connection.execute(sql.put(names, (statement.row for statement in by_identity)))
            connection.commit()
            return
        connection.rollback()
    _lock(connection, names, identities, exclusive=True)
    _join(connection, names, items)
    connection.commit()


def _lock(connection: Client, names: Names, identities: Iterable[str], *, exclusive: bool) -> None:
    count, statement = sql.lock(names, identities, exclusive=exclusive)
    if len(_wait_for_slots(connection, statement)) < count:  # the guard was emptied by hand
        connection.rollback()
        connection.execute([sql.insert_slots(names)])
        connection.commit()
        connection.query(statement)


def _wait_for_slots(connection: Client, statement: bytes) -> list[tuple[Any, ...]]:
    """Lock slots; if that takes long, wait again."""
    from pymysql import MySQLError  # noqa: PLC0415 - carried by functions that deliver

    for _ in range(_SLOT_WAITS - 1):
        try:
            return connection.query(statement)
        except MySQLError as error:
            if number(error) != LOCK_WAIT_TIMEOUT:
                raise
            connection.rollback()
    return connection.query(statement)


def locked_keys(connection: Client, names: Names, keys: Iterable[str]) -> list[str]:
    """Return those of these keys whose rows are locked; none if the server is too old to tell."""
    from pymysql import MySQLError  # noqa: PLC0415 - carried by functions that deliver

    by_hash = {sql.identity(key): key for key in keys}
    connection.execute([sql.READ_UNCOMMITTED])
    try:
        known = _hashes(connection, sql.select_hashes(names, by_hash))
        free = _hashes(connection, sql.select_hashes(names, by_hash, sql.SKIP_LOCKED))
    except MySQLError as error:
        if number(error) != PARSE_ERROR:
            raise
        return []
    finally:
        connection.rollback()
    return [by_hash[hash_] for hash_ in known - free]


def _hashes(connection: Client, statements: Iterable[bytes]) -> set[str]:
    return {str(row[0]) for statement in statements for row in connection.query(statement)}


def _join(connection: Client, names: Names, items: Sequence[Item]) -> None:
    stored = state.load(connection, names, [item.entry for item in items])
    rows: list[bytes] = []
    removed: list[str] = []
    guard: list[bytes] = []
    for identity, group in groupby(items, attrgetter("identity")):
        key_items, state_ = list(group), stored[identity]
        key, row = key_items[0].entry.key, bytes(state_.put.document if state_.put else b"")
        moves = [
            (entry, msgspec.Raw(value))
            for entry, value in (keep_row(each.entry, each.value, row) for each in key_items)
        ]
        change = join(state_, moves)
        if change.document:
            rows.append(sql.row(key.encode(), change.document))
        elif change.removed:
            removed.append(identity)
        if moves and state_.is_guarded:
            versions = [entry.version for entry, _ in moves if entry.register is not Register.PUT]
            guard += sql.guard_rows(key, state_, versions)
    connection.execute(sql.write_guard(names, guard))
    connection.execute(sql.write(names, rows))
    connection.execute(sql.delete(names, removed))
