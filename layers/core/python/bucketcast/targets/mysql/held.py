# ruff: noqa: S608 - names are checked and quoted, values are hex digits or `quoted`
"""What a table of the format `namespace` holds, by hashes, and what is known of certain keys."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from bucketcast.event import SEQUENCER_DIGITS
from bucketcast.held import Held, Known, Order, known, read, versions
from bucketcast.targets.mysql import sql, tables
from bucketcast.targets.mysql.connection import Connection

ROWS_A_PAGE = 2000
_HASHES = 1 << 16
"""As many shares there can be, told apart by four hex digits."""
_Watch = Callable[[], AbstractContextManager[None]]


def shares(count: int) -> list[str]:
    """Ranges of `key_hash`: the hashes of any keys are spread evenly."""
    count = min(count, _HASHES)
    begins = ["", *(f"{_HASHES * place // count:04x}" for place in range(1, count))]
    ends = [*begins[1:], "g"]  # behind all hex digits
    return [msgspec.json.encode(each).decode() for each in zip(begins, ends, strict=True)]


def rows(
    connection: Connection, names: sql.Names, share: str, prefix: str, watched: _Watch
) -> Iterator[Held]:
    """The rows of a share, in pages by their hash, which never changes: none is met twice."""
    after, end = msgspec.json.decode(share, type=tuple[str, str])
    within = ""
    if prefix:
        # May take too many, as spaces at the end do not count.
        text = sql.quoted(prefix.encode()).decode()
        within = f" AND LEFT(key_name, {len(prefix)}) = {text}"
    while True:
        statement = (
            f"SELECT key_hash, key_name, value FROM {names.table}"
            f" WHERE key_hash > '{after}' AND key_hash < '{end}'{within}"
            f" ORDER BY key_hash LIMIT {ROWS_A_PAGE}"
        )
        with watched():
            found = connection.ask(statement.encode())
            connection.rollback()
        for _, key, value in found:
            if key.startswith(prefix):
                yield read(value, key)
        if len(found) < ROWS_A_PAGE:
            return
        after = found[-1][0]


def of(connection: Connection, names: sql.Names, paths: Sequence[str]) -> dict[str, Known]:
    """The rows of these keys, and what the guard says of them."""
    by_hash = {sql.identity(path): path for path in paths}
    held: dict[str, Held] = {}
    for statement in sql.values(names, by_hash):
        for found, value in connection.ask(statement):
            path = by_hash[str(found)]
            held[path] = read(value, path)
    guarded: dict[str, list[Order]] = {}
    if tables.find_guard(connection, names):
        wanted = {
            sql.identity(path, version): path
            for path in paths
            for version in versions(held.get(path))
        }
        for statement in sql.guarded(names, wanted):
            for identity, *columns in connection.ask(statement):
                path = wanted[str(identity).lower()]
                guarded.setdefault(path, []).extend(_orders(columns))
    connection.rollback()
    return {
        path: known(held.get(path), guarded.get(path, ()))
        for path in paths
        if path in held or path in guarded
    }


def _orders(columns: Sequence[Any]) -> Iterator[Order]:
    """What a row of the guard says, in the columns of `sql.guarded`."""
    put, removed, removed_at, _, overlay_time = columns
    for moment in (put, removed):
        yield moment[:SEQUENCER_DIGITS], _time(moment[SEQUENCER_DIGITS:])
    for time in (removed_at, overlay_time):
        yield "", _time(time)


def _time(bare: str) -> str:
    return f"{bare}Z" if bare else ""
