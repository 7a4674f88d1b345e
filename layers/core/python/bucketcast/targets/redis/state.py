"""Read the hash and the guard of the format `namespace`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bucketcast.mirror.rows import MergedState, Order, StoredRow, merged_states, read, versions

FIELDS_PER_CALL = 500
_Execute = Callable[..., Any]
"""Send a command, return its reply."""
_GLOB_ESCAPES: Mapping[int, str] = str.maketrans({char: f"\\{char}" for char in "\\*?["})


class _StoredOrder(msgspec.Struct):
    """The order of a put, a removal or an overlay, as the script stores it."""

    time: str = ""
    seq: str = ""
    at: str = ""


class _State(msgspec.Struct):
    """The state of a path, as the script stores it; `put` is `false` if there is none."""

    put: _StoredOrder | bool = False


_decode_state = msgspec.msgpack.Decoder(_State).decode
_decode_order = msgspec.msgpack.Decoder(_StoredOrder).decode


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
    values, packed = execute("HMGET", key, *paths), execute("HMGET", f"{key}:guard", *paths)
    stored = {path: read(value, path) for path, value in zip(paths, values, strict=True) if value}
    orders: dict[str, list[Order]] = {}
    names: list[tuple[str, str]] = []  # as the script has them, of removals (-) and overlays (+)
    for path, state in zip(paths, packed, strict=True):
        if state:
            put = _decode_state(state).put
            orders[path] = list(_orders(put)) if isinstance(put, _StoredOrder) else []
            needed = versions(stored.get(path))
            length = len(path.encode())
            names += [(path, f"{kind}{length} {path}{each}") for kind in "-+" for each in needed]
    if names:
        packed_orders = execute("HMGET", f"{key}:guard", *(name for _, name in names))
        for (path, _), order in zip(names, packed_orders, strict=True):
            if order:
                orders[path] += _orders(_decode_order(order))
    return merged_states(paths, stored, orders)


def _orders(stored: _StoredOrder) -> Iterator[Order]:
    if stored.time:
        yield stored.seq, stored.time
    if stored.at:
        yield "", stored.at
