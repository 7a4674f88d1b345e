"""The format `namespace`: a batch joined with what the database holds, in one transaction.

The slots of its keys are locked first: shared by batches that only put keys of which the guard
knows nothing, alone by all others. So a put and a newer removal of a key never pass each other
unseen, and what is read under the lock stays so until the commit.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import msgspec

from bucketcast.mirror.join import join
from bucketcast.mirror.registers import Register, RegisterUpdate
from bucketcast.shapes.minio import records
from bucketcast.targets.mysql import sql, state
from bucketcast.targets.mysql.client import Client
from bucketcast.targets.mysql.names import Names


class Item(NamedTuple):
    """An entry with its value as JSON, its row in SQL, and what `sql.identity` says of its key."""

    entry: RegisterUpdate
    value: bytes
    row: bytes
    identity: str


def item(entry: RegisterUpdate) -> Item:
    """Return the item of an entry.

    Raises:
        UnicodeEncodeError: it holds what is no Unicode text.
    """
    value = records(entry.event)
    row = sql.row(entry.key.encode(), value)
    return Item(entry, value, row, sql.identity(entry.key))


def deliver(connection: Client, names: Names, items: Sequence[Item]) -> None:
    """Join these items, sorted by key, and commit."""
    identities = list(dict.fromkeys(item.identity for item in items))
    if all(item.entry.register is Register.PUT for item in items):
        _lock(connection, names, identities, alone=False)
        if not any(connection.ask(each) for each in sql.guarded(names, identities)):
            # In the order of the index, for two batches may put the same keys.
            ordered = sorted(items, key=attrgetter("identity"))
            connection.say(sql.put(names, (each.row for each in ordered)))
            connection.commit()
            return
        connection.rollback()
    _lock(connection, names, identities, alone=True)
    _join(connection, names, items)
    connection.commit()


def _lock(connection: Client, names: Names, identities: Iterable[str], *, alone: bool) -> None:
    count, statement = sql.lock(names, identities, alone=alone)
    if len(connection.ask(statement)) < count:  # somebody emptied the guard
        connection.rollback()
        connection.say([sql.make_slots(names)])
        connection.commit()
        connection.ask(statement)


def _join(connection: Client, names: Names, items: Sequence[Item]) -> None:
    stored = state.load(connection, names, [item.entry for item in items])
    rows: list[bytes] = []
    removed: list[str] = []
    guard: list[bytes] = []
    for identity, group in groupby(items, attrgetter("identity")):
        of_key, found = list(group), stored[identity]
        key = of_key[0].entry.key
        change = join(found, [(item.entry, msgspec.Raw(item.value)) for item in of_key])
        if change.document:
            rows.append(sql.row(key.encode(), change.document))
        elif change.removed:
            removed.append(identity)
        if found.is_guarded:
            moved = [e.version for e, *_ in of_key if e.register is not Register.PUT]
            guard += sql.guard_rows(key, found, moved)
    connection.say(sql.write_guard(names, guard))
    connection.say(sql.write(names, rows))
    connection.say(sql.remove(names, removed))
