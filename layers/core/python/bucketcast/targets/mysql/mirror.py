"""The format `namespace`: a batch joined with what the database holds, in one transaction.

The slots of its keys are locked first: shared by batches that only put keys of which the guard
knows nothing, alone by all others. So a put and a newer removal of a key never pass each other
unseen, and what is read under the lock stays so until the commit.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from bucketcast.namespace import ANY, Entry, Register
from bucketcast.shapes.minio import records
from bucketcast.targets.mysql import sql
from bucketcast.targets.mysql.connection import Connection
from bucketcast.targets.mysql.join import Known, Overlay, Removal, join, of_row


class Item(NamedTuple):
    """An entry with its value as JSON, its row in SQL, and what `sql.identity` says of its key."""

    entry: Entry
    value: bytes
    row: bytes
    identity: str

    @property
    def places(self) -> Sequence[int]:
        return self.entry.places


def item(entry: Entry) -> Item:
    """The item of an entry.

    Raises:
        UnicodeEncodeError: it holds what is no Unicode text.
    """
    value = records(entry.event)
    row = sql.row(sql.quoted(entry.key.encode()), sql.quoted(value))
    return Item(entry, value, row, sql.identity(entry.key))


def claim(connection: Connection, names: sql.Names, wanted: Mapping[str, str]) -> dict[str, str]:
    """Give sources to buckets that have none, and tell which they have; both are by bucket."""
    connection.say(sql.claim(names, wanted))
    connection.commit()
    found = {
        str(bucket): str(who)
        for statement in sql.claimed(names, wanted)
        for bucket, who in connection.ask(statement)
    }
    connection.rollback()
    return found


def deliver(connection: Connection, names: sql.Names, items: Sequence[Item]) -> None:
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


def _lock(
    connection: Connection, names: sql.Names, identities: Iterable[str], *, alone: bool
) -> None:
    count, statement = sql.lock(names, identities, alone=alone)
    if len(connection.ask(statement)) < count:  # somebody emptied the guard
        connection.rollback()
        connection.say([sql.make_slots(names)])
        connection.commit()
        connection.ask(statement)


def _join(connection: Connection, names: sql.Names, items: Sequence[Item]) -> None:
    known = _known(connection, names, items)
    rows: list[bytes] = []
    gone: list[str] = []
    guard: list[bytes] = []
    for identity, group in groupby(items, attrgetter("identity")):
        of_key = list(group)
        key, held = of_key[0].entry.key, known[identity]
        change = join(held, ((item.entry, item.value) for item in of_key))
        if change.value:
            rows.append(sql.row(sql.quoted(key.encode()), sql.quoted(change.value)))
        elif change.gone:
            gone.append(identity)
        if held.guarded:
            moved = [e.version for e, *_ in of_key if e.register is not Register.PUT]
            guard += sql.guard_rows(key, held, moved)
    connection.say(sql.write_guard(names, guard))
    connection.say(sql.write(names, rows))
    connection.say(sql.remove(names, gone))


def _known(connection: Connection, names: sql.Names, items: Sequence[Item]) -> dict[str, Known]:
    """What is known of each key, by its identity."""
    known = {item.identity: Known(removals={}, overlays={}) for item in items}
    for statement in sql.shown(names, known):
        for identity, time, held in connection.ask(statement):
            known[str(identity)] = of_row(time, held)
    # A put is hidden by removals of its version, and has its overlay; all others meet their like.
    wanted = {item.identity: (item.identity, ANY) for item in items}
    for item in items:
        version = item.entry.version
        wanted[sql.identity(item.entry.key, version)] = (item.identity, version)
    for statement in sql.guarded(names, wanted):
        for hexadecimal, *columns in connection.ask(statement):
            identity, version = wanted[str(hexadecimal).lower()]
            _add(known[identity], version, columns)
    return known


def _add(known: Known, version: str, columns: Sequence[Any]) -> None:
    """What a row of the guard says of a version of a key."""
    put, removed, removed_at, overlay, overlay_time = columns
    known.removals[version] = Removal(removed, removed_at)
    known.overlays[version] = Overlay((overlay or "").encode(), overlay_time)
    if version == ANY:
        known.guarded, known.put = True, put or known.put
