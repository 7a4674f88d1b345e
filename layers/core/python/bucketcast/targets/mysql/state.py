# ruff: noqa: S608 - names are checked and quoted, values are hex digits or `quoted`
"""Read the rows and the guard of the format `namespace`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from bucketcast.mirror.join import HIDDEN, Overlay, Put, Stored, Version, put_of
from bucketcast.mirror.registers import ANY, FIRST, UNVERSIONED, RegisterUpdate
from bucketcast.mirror.rows import MergedState, Order, StoredRow, merged_states, read, versions
from bucketcast.targets.base.tables import add_zone, parse_moment
from bucketcast.targets.mysql import sql, tables
from bucketcast.targets.mysql.client import Client
from bucketcast.targets.mysql.names import Names

ROWS_PER_PAGE = 2000
_FOREIGN = Put(FIRST, "", UNVERSIONED, msgspec.Raw(b""))
_HASHES = 1 << 16
"""The maximum number of partitions, which begin with four hex digits."""
_Limit = Callable[[], AbstractContextManager[None]]


def partitions(_connection: Client, _names: Names, count: int) -> list[str]:
    """Return ranges of `key_hash`: hashes are spread evenly."""
    count = min(count, _HASHES)
    begins = ["", *(f"{_HASHES * number // count:04x}" for number in range(1, count))]
    ends = [*begins[1:], "g"]  # after all hex digits
    return [msgspec.json.encode(bounds).decode() for bounds in zip(begins, ends, strict=True)]


def read_rows(
    connection: Client, names: Names, partition: str, prefix: str, limit: _Limit
) -> Iterator[StoredRow]:
    """Yield the rows of a partition once each, in pages by their hash, which never changes."""
    after, end = msgspec.json.decode(partition, type=tuple[str, str])
    condition = ""
    if prefix:
        # May match too many rows, as trailing spaces do not count.
        literal = sql.quote(prefix.encode()).decode()
        condition = f" AND LEFT(key_name, {len(prefix)}) = {literal}"
    while True:
        statement = (
            f"SELECT key_hash, key_name, value FROM {names.table}"
            f" WHERE key_hash > '{after}' AND key_hash < '{end}'{condition}"
            f" ORDER BY key_hash LIMIT {ROWS_PER_PAGE}"
        )
        with limit():
            page = connection.query(statement.encode())
            connection.rollback()
        for _, key, value in page:
            if key.startswith(prefix):
                yield read(value, key)
        if len(page) < ROWS_PER_PAGE:
            return
        after = page[-1][0]


def read_states(connection: Client, names: Names, paths: Sequence[str]) -> dict[str, MergedState]:
    """Return the merged states of these paths, from their rows and the guard."""
    by_hash = {sql.identity(path): path for path in paths}
    stored: dict[str, StoredRow] = {}
    for statement in sql.select_values(names, by_hash):
        for hash_, value in connection.query(statement):
            path = by_hash[str(hash_)]
            stored[path] = read(value, path)
    guarded: dict[str, list[Order]] = {}
    if tables.find_guard(connection, names):
        ids = {
            sql.identity(path, version): path
            for path in paths
            for version in versions(stored.get(path))
        }
        for statement in sql.select_guard(names, ids):
            for identity, *columns in connection.query(statement):
                path = ids[str(identity).lower()]
                guarded.setdefault(path, []).extend(_orders(columns))
    connection.rollback()
    return merged_states(paths, stored, guarded)


def load(connection: Client, names: Names, entries: Iterable[RegisterUpdate]) -> dict[str, Stored]:
    """Return the stored state of the keys of a batch, by identity."""
    # A put needs the removals and overlays of its version, every other entry its own register.
    ids: dict[str, tuple[str, str]] = {}
    for entry in entries:
        key = sql.identity(entry.key)
        for version in (ANY, entry.version):
            ids[sql.identity(entry.key, version)] = (key, version)
    stored = {key: Stored(versions={}) for key, _ in ids.values()}
    for statement in sql.select_values(names, stored):
        for identity, value in connection.query(statement):
            put = put_of((value or "").encode()) or _FOREIGN
            stored[str(identity)] = Stored(is_shown=True, put=put, time=put.time, versions={})
    for statement in sql.select_guard(names, ids):
        for hexadecimal, *columns in connection.query(statement):
            key, version = ids[str(hexadecimal).lower()]
            _add_guard_row(stored[key], version, columns)
    return stored


def _add_guard_row(stored: Stored, version: str, columns: Sequence[Any]) -> None:
    """Add a row of the guard about a version of a key."""
    put, removed, removed_at, document, overlay_time = columns
    overlay = Overlay(add_zone(overlay_time), msgspec.Raw(document.encode())) if document else None
    stored.versions[version] = Version(parse_moment(removed), add_zone(removed_at), overlay)
    if version == ANY:
        stored.is_guarded = True
        if put:
            shown = stored.put or Put("", "", UNVERSIONED, HIDDEN)
            stored.put = Put(*parse_moment(put), shown.version, shown.document)


def _orders(columns: Sequence[Any]) -> Iterator[Order]:
    """Yield the orders in a row of the guard, which has the columns of `sql.select_guard`."""
    put, removed, removed_at, _, overlay_time = columns
    yield from (parse_moment(put), parse_moment(removed))
    for time in (removed_at, overlay_time):
        yield "", add_zone(time)
