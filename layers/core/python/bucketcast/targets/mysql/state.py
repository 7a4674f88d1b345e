# ruff: noqa: S608 - names are checked and quoted, values are hex digits or `quoted`
"""Rows and guard of the format `namespace`, as the database has them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from bucketcast.event import padded, to_millis
from bucketcast.mirror.join import HIDDEN, Overlay, Put, Stored, Version
from bucketcast.mirror.registers import ANY, FIRST, UNVERSIONED, RegisterUpdate
from bucketcast.mirror.rows import MergedState, Order, StoredRow, merged_states, read, versions
from bucketcast.targets.base.tables import add_zone, parse_moment
from bucketcast.targets.mysql import sql, tables
from bucketcast.targets.mysql.client import Client
from bucketcast.targets.mysql.names import Names

ROWS_A_PAGE = 2000
_DOCUMENT = b'{"Records":[{"s3":{"object":%b}}]}'
_HASHES = 1 << 16
"""As many partitions there can be, distinguished by four hex digits."""
_Watch = Callable[[], AbstractContextManager[None]]


def partitions(count: int) -> list[str]:
    """Ranges of `key_hash`: the hashes of any keys are spread evenly."""
    count = min(count, _HASHES)
    begins = ["", *(f"{_HASHES * number // count:04x}" for number in range(1, count))]
    ends = [*begins[1:], "g"]  # behind all hex digits
    return [msgspec.json.encode(each).decode() for each in zip(begins, ends, strict=True)]


def rows(
    connection: Client, names: Names, partition: str, prefix: str, watched: _Watch
) -> Iterator[StoredRow]:
    """Yield the rows of a partition once each, in pages by their hash, which never changes."""
    after, end = msgspec.json.decode(partition, type=tuple[str, str])
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


def of(connection: Client, names: Names, paths: Sequence[str]) -> dict[str, MergedState]:
    """Return the rows of these keys, and what the guard says of them."""
    by_hash = {sql.identity(path): path for path in paths}
    stored: dict[str, StoredRow] = {}
    for statement in sql.values(names, by_hash):
        for found, value in connection.ask(statement):
            path = by_hash[str(found)]
            stored[path] = read(value, path)
    guarded: dict[str, list[Order]] = {}
    if tables.find_guard(connection, names):
        wanted = {
            sql.identity(path, version): path
            for path in paths
            for version in versions(stored.get(path))
        }
        for statement in sql.guarded(names, wanted):
            for identity, *columns in connection.ask(statement):
                path = wanted[str(identity).lower()]
                guarded.setdefault(path, []).extend(_orders(columns))
    connection.rollback()
    return merged_states(paths, stored, guarded)


def load(connection: Client, names: Names, entries: Iterable[RegisterUpdate]) -> dict[str, Stored]:
    """Read what is stored of the keys of a batch, by their identities."""
    # A put is hidden by removals of its version, and has its overlay; all others meet their like.
    wanted: dict[str, tuple[str, str]] = {}
    for entry in entries:
        key = sql.identity(entry.key)
        for version in (ANY, entry.version):
            wanted[sql.identity(entry.key, version)] = (key, version)
    found = {key: Stored(versions={}) for key, _ in wanted.values()}
    for statement in sql.shown(names, found):
        for identity, time, about in connection.ask(statement):
            found[str(identity)] = _of_row(time, about)
    for statement in sql.guarded(names, wanted):
        for hexadecimal, *columns in connection.ask(statement):
            key, version = wanted[str(hexadecimal).lower()]
            _add(found[key], version, columns)
    return found


def _of_row(time: str | None, about: str | None) -> Stored:
    """Return what a row alone says: its event's time and its object, as JSON."""
    at = to_millis(time) if time else ""
    sequencer: Any = ""
    version, document = "", b""
    try:
        if isinstance(said := msgspec.json.decode(about or "null"), dict) and said:
            sequencer, version = said.get("sequencer"), said.get("versionId") or ""
            document = _DOCUMENT % (about or "").encode()
    except msgspec.DecodeError:  # such as a number that is none of Python's
        pass
    digits = padded(sequencer) if isinstance(sequencer, str) else ""
    put = Put(digits or FIRST, at, version or UNVERSIONED, msgspec.Raw(document))
    return Stored(is_shown=True, put=put, time=at, versions={})


def _add(stored: Stored, version: str, columns: Sequence[Any]) -> None:
    """Add what a row of the guard says of a version of a key."""
    put, removed, removed_at, overlay, overlay_time = columns
    laid = Overlay(add_zone(overlay_time), msgspec.Raw(overlay.encode())) if overlay else None
    stored.versions[version] = Version(parse_moment(removed), add_zone(removed_at), laid)
    if version == ANY:
        stored.is_guarded = True
        if put:
            shown = stored.put or Put("", "", UNVERSIONED, HIDDEN)
            stored.put = Put(*parse_moment(put), shown.version, shown.document)


def _orders(columns: Sequence[Any]) -> Iterator[Order]:
    """Yield what a row of the guard says, in the columns of `sql.guarded`."""
    put, removed, removed_at, _, overlay_time = columns
    yield from (parse_moment(put), parse_moment(removed))
    for time in (removed_at, overlay_time):
        yield "", add_zone(time)
