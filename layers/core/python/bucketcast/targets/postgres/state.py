"""Read the table, by pages, and the guard of the format `namespace`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import msgspec

from bucketcast.mirror.rows import MergedState, Order, StoredRow, merged_states, read, versions
from bucketcast.targets.base.tables import add_zone, parse_moment
from bucketcast.targets.postgres import sql

if TYPE_CHECKING:
    from psycopg import Connection

ROWS_PER_FETCH = 2000
_PAGES = """
select pg_relation_size(to_regclass(%s)) / current_setting('block_size')::bigint
"""
_Limit = Callable[[], AbstractContextManager[None]]


def partitions(connection: "Connection", names: sql.Names, count: int) -> list[str]:
    """Return ranges of the table's pages; the last has no end, as rows may be added meanwhile.

    A view, or a partitioned table, has no pages of its own: it is one partition.
    """
    (pages,) = connection.execute(_PAGES, [names.table]).fetchone() or (0,)
    step = max(1, -(-int(pages or 0) // count))
    begins = list(range(0, int(pages or 0), step)) or [0]
    ends: list[int | None] = [*begins[1:], None]
    return [msgspec.json.encode(bounds).decode() for bounds in zip(begins, ends, strict=True)]


def read_rows(
    connection: "Connection", names: sql.Names, partition: str, prefix: str, limit: _Limit
) -> Iterator[StoredRow]:
    """Yield the rows of a partition from a server-side cursor, with a `limit` for each fetch.

    Since PostgreSQL 14, only the partition's own pages are read; before, the whole table.
    """
    begin, end = msgspec.json.decode(partition, type=tuple[int, int | None])
    where = [f"ctid >= '({begin},0)'"] if begin else []
    where += [f"ctid < '({end},0)'"] if end is not None else []
    where += ["key like %(like)s"] if prefix else []
    table = sql.escape_percent(names.table)
    query = f"select key, value::text from {table}"  # noqa: S608 - the name is checked
    query += f" where {' and '.join(where)}" if where else ""
    with connection.transaction(), connection.cursor("bucketcast_held") as cursor:
        with limit():
            cursor.execute(query.encode(), {"like": _like(prefix)})
        while True:
            with limit():
                batch = cursor.fetchmany(ROWS_PER_FETCH)
            if not batch:
                return
            for key, value in batch:
                yield read(value, key)


def read_states(
    connection: "Connection", names: sql.Names, paths: Sequence[str]
) -> dict[str, MergedState]:
    """Return the merged states of these paths, from their rows and the guard."""
    valid_paths = [path for path in paths if "\0" not in path]
    table, guard = map(sql.escape_percent, (names.table, names.guard))
    query = f"select key, value::text from {table} where key = any(%s)"  # noqa: S608
    stored = {key: read(value, key) for key, value in _query(connection, query, valid_paths)}
    guarded: dict[str, list[Order]] = {}
    if sql.columns(connection, names.guard)[0]:
        query = (
            "select key, version, put, removed, removed_at, overlay_time"  # noqa: S608
            f" from {guard} where key = any(%s)"
        )
        for key, version, put, removed, *times in _query(connection, query, valid_paths):
            if version not in versions(stored.get(key)):
                continue
            orders = guarded.setdefault(key, [])
            orders += [parse_moment(put), parse_moment(removed)]
            orders += [("", add_zone(time)) for time in times]
    return merged_states(valid_paths, stored, guarded)


def _query(connection: "Connection", query: str, paths: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    return iter(connection.execute(query.encode(), [list(paths)]).fetchall())


_LITERAL: Mapping[int, str] = str.maketrans({char: f"\\{char}" for char in "\\%_"})


def _like(prefix: str) -> str:
    return prefix.translate(_LITERAL) + "%"
