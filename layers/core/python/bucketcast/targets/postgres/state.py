"""Read the table, by pages, and the guard of the format `namespace`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import msgspec

from bucketcast.mirror.rows import MergedState, Order, StoredRow, merged_states, read, versions
from bucketcast.targets.base.tables import add_zone, parse_moment
from bucketcast.targets.postgres import sql

if TYPE_CHECKING:
    from bucketcast.targets.postgres.client import Client

ROWS_PER_FETCH = 2000
_PAGES = """
select pg_relation_size(to_regclass($1)) / current_setting('block_size')::bigint
"""
_Limit = Callable[[], AbstractContextManager[None]]


def partitions(client: "Client", names: sql.Names, count: int) -> list[str]:
    """Return ranges of the table's pages; the last has no end, as rows may be added meanwhile.

    A view, or a partitioned table, has no pages of its own: it is one partition.
    """
    ((pages,),) = client.query(_PAGES, names.table)
    step = max(1, -(-int(pages or 0) // count))
    begins = list(range(0, int(pages or 0), step)) or [0]
    ends: list[int | None] = [*begins[1:], None]
    return [msgspec.json.encode(bounds).decode() for bounds in zip(begins, ends, strict=True)]


def read_rows(
    client: "Client", names: sql.Names, partition: str, prefix: str, limit: _Limit
) -> Iterator[StoredRow]:
    """Yield the rows of a partition from a server-side cursor, with a `limit` for each fetch.

    Since PostgreSQL 14, only the partition's own pages are read; before, the whole table.
    """
    begin, end = msgspec.json.decode(partition, type=tuple[int, int | None])
    where = [f"ctid >= '({begin},0)'"] if begin else []
    where += [f"ctid < '({end},0)'"] if end is not None else []
    where += ["key like $1"] if prefix else []
    query = f"select key, value::text from {names.table}"  # noqa: S608 - the name is checked
    query += f" where {' and '.join(where)}" if where else ""
    with limit():
        client.execute("begin")
        client.query(f"declare bucketcast_held cursor for {query}", *filter(None, [_like(prefix)]))
    while True:
        with limit():
            batch = client.query(f"fetch {ROWS_PER_FETCH} from bucketcast_held")
        if not batch:
            break
        for key, value in batch:
            yield read(value, key)
    with limit():
        client.execute("commit")


def read_states(client: "Client", names: sql.Names, paths: Sequence[str]) -> dict[str, MergedState]:
    """Return the merged states of these paths, from their rows and the guard."""
    valid_paths = [path for path in paths if "\0" not in path]
    query = f"select key, value::text from {names.table} where key = any($1)"  # noqa: S608
    stored = {key: read(value, key) for key, value in client.query(query, valid_paths)}
    guarded: dict[str, list[Order]] = {}
    if sql.columns(client, names.guard)[0]:
        query = (
            "select key, version, put, removed, removed_at, overlay_time"  # noqa: S608
            f" from {names.guard} where key = any($1)"
        )
        for key, version, put, removed, *times in client.query(query, valid_paths):
            if version not in versions(stored.get(key)):
                continue
            orders = guarded.setdefault(key, [])
            orders += [parse_moment(put), parse_moment(removed)]
            orders += [("", add_zone(time)) for time in times]
    return merged_states(valid_paths, stored, guarded)


_LITERAL: Mapping[int, str] = str.maketrans({char: f"\\{char}" for char in "\\%_"})


def _like(prefix: str) -> str:
    return prefix.translate(_LITERAL) + "%" if prefix else ""
