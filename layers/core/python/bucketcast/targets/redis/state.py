"""Read the hash and the guard of the format `namespace`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bucketcast.mirror.rows import MergedState, Order, StoredRow, merged_states, read, versions

FIELDS_PER_CALL = 500
_Execute = Callable[..., Any]
"""Send a command, return its reply."""
_GLOB_ESCAPES: Mapping[int, str] = str.maketrans({char: f"\\{char}" for char in "\\*?["})


class _Moment(msgspec.Struct):
    """The order of a put, a removal or an overlay, as the script stores it."""

    time: str = ""
    seq: str = ""
    at: str = ""


class _State(msgspec.Struct):
    """The state of a path, as the script stores it; `put` is `false` if there is none."""

    put: _Moment | bool = False


_state = msgspec.msgpack.Decoder(_State).decode
_moment = msgspec.msgpack.Decoder(_Moment).decode


def read_rows(execute: _Execute, key: str, prefix: str) -> Iterator[StoredRow]:
    """Yield all fields whose name begins with `prefix`, some of them twice while the hash grows."""
    cursor: bytes | str = "0"
    match = ("MATCH", f"{prefix.translate(_GLOB_ESCAPES)}*") if prefix else ()
    while True:
        cursor, flat = execute("HSCAN", key, cursor, "COUNT", FIELDS_PER_CALL, *match)
        for name, value in zip(flat[::2], flat[1::2], strict=True):
            yield read(value, str(name, "utf-8", "replace"))
        if int(cursor) == 0:
            return


def read_states(execute: _Execute, key: str, paths: Sequence[str]) -> dict[str, MergedState]:
    """Return the merged states of these paths, from their fields and the guard."""
    states: dict[str, MergedState] = {}
    for start in range(0, len(paths), FIELDS_PER_CALL):
        states |= _read_batch(execute, key, paths[start : start + FIELDS_PER_CALL])
    return states


def _read_batch(execute: _Execute, key: str, paths: Sequence[str]) -> dict[str, MergedState]:
    values, packed = execute("HMGET", key, *paths), execute("HMGET", f"{key}:guard", *paths)
    stored = {path: read(value, path) for path, value in zip(paths, values, strict=True) if value}
    orders: dict[str, list[Order]] = {}
    names: list[tuple[str, str]] = []
    for path, state in zip(paths, packed, strict=True):
        if state:
            put = _state(state).put
            orders[path] = list(_orders(put)) if isinstance(put, _Moment) else []
            needed = versions(stored.get(path))
            names += [(path, _field(kind, path, version)) for kind in "-+" for version in needed]
    if names:
        moments = execute("HMGET", f"{key}:guard", *(name for _, name in names))
        for (path, _), moment in zip(names, moments, strict=True):
            if moment:
                orders[path] += _orders(_moment(moment))
    return merged_states(paths, stored, orders)


def _field(kind: str, path: str, version: str) -> str:
    """Return the script's name for a version's removals or overlays in the guard."""
    return f"{kind}{len(path.encode())} {path}{version}"


def _orders(moment: _Moment) -> Iterator[Order]:
    if moment.time:
        yield moment.seq, moment.time
    if moment.at:
        yield "", moment.at
