"""What a table of the format `namespace` holds, by pages, and what is known of certain keys."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import msgspec

from bucketcast.mirror.rows import MergedState, Order, StoredRow, merged_states, read, versions
from bucketcast.targets.base.tables import add_zone, parse_moment
from bucketcast.targets.postgres import sql

if TYPE_CHECKING:
    from psycopg import Connection

ROWS_A_FETCH = 2000
_PAGES = """
select pg_relation_size(to_regclass(%s)) / current_setting('block_size')::bigint
"""
_Watch = Callable[[], AbstractContextManager[None]]


def partitions(connection: "Connection", names: sql.Names, count: int) -> list[str]:
    """Ranges of the table's pages, of which the last has no end: rows may be added meanwhile.

    A view, or a table of partitions, has no pages of its own: it is one partition.
    """
    (found,) = connection.execute(_PAGES, [names.table]).fetchone() or (0,)
    step = max(1, -(-int(found or 0) // count))
    begins = list(range(0, int(found or 0), step)) or [0]
    ends: list[int | None] = [*begins[1:], None]
    return [msgspec.json.encode(each).decode() for each in zip(begins, ends, strict=True)]


def rows(
    connection: "Connection", names: sql.Names, partition: str, prefix: str, watched: _Watch
) -> Iterator[StoredRow]:
    """Yield the rows of a partition from a server-side cursor, each of whose fetches is `watched`.

    From PostgreSQL 14 on a partition costs the reading of its own pages, before that of the table.
    """
    begin, end = msgspec.json.decode(partition, type=tuple[int, int | None])
    where = [f"ctid >= '({begin},0)'"] if begin else []
    where += [f"ctid < '({end},0)'"] if end is not None else []
    where += ["key like %(like)s"] if prefix else []
    table = sql.beside_parameters(names.table)
    query = f"select key, value::text from {table}"  # noqa: S608 - the name is checked
    query += f" where {' and '.join(where)}" if where else ""
    with connection.transaction(), connection.cursor("bucketcast_held") as cursor:
        with watched():
            cursor.execute(query.encode(), {"like": _like(prefix)})
        while True:
            with watched():
                found = cursor.fetchmany(ROWS_A_FETCH)
            if not found:
                return
            for key, value in found:
                yield read(value, key)


def of(connection: "Connection", names: sql.Names, paths: Sequence[str]) -> dict[str, MergedState]:
    """Return the rows of these keys, and what the guard says of them."""
    wanted = [path for path in paths if "\0" not in path]
    table, guard = map(sql.beside_parameters, (names.table, names.guard))
    query = f"select key, value::text from {table} where key = any(%s)"  # noqa: S608
    stored = {key: read(value, key) for key, value in _ask(connection, query, wanted)}
    guarded: dict[str, list[Order]] = {}
    if sql.columns(connection, names.guard)[0]:
        query = (
            "select key, version, put, removed, removed_at, overlay_time"  # noqa: S608
            f" from {guard} where key = any(%s)"
        )
        for key, version, put, removed, *times in _ask(connection, query, wanted):
            if version not in versions(stored.get(key)):
                continue
            orders = [
                parse_moment(put),
                parse_moment(removed),
                *(("", add_zone(each)) for each in times),
            ]
            guarded.setdefault(key, []).extend(orders)
    return merged_states(wanted, stored, guarded)


def _ask(connection: "Connection", query: str, paths: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    return iter(connection.execute(query.encode(), [list(paths)]).fetchall())


_LITERAL: Mapping[int, str] = str.maketrans({each: f"\\{each}" for each in "\\%_"})


def _like(prefix: str) -> str:
    return prefix.translate(_LITERAL) + "%"
