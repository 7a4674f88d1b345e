"""What a hash of the format `namespace` holds, and what is known of certain fields."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bucketcast.event import to_millis
from bucketcast.held import Held, Known, Order, known, read, versions

FIELDS_A_CALL = 500
_Ask = Callable[..., Any]
"""Say a command, get its answer."""
_GLOB: Mapping[int, str] = str.maketrans({each: f"\\{each}" for each in "\\*?["})


class _Moment(msgspec.Struct):
    time: str = ""
    seq: str = ""


class _State(msgspec.Struct):
    """What the script keeps of a path, as far as it is asked for here."""

    put: _Moment | None = None
    overlay: _Moment | None = None


_state = msgspec.msgpack.Decoder(_State).decode
_removal = msgspec.msgpack.Decoder(_Moment).decode


def rows(ask: _Ask, key: str, prefix: str) -> Iterator[Held]:
    """All fields whose name begins with `prefix`, some of them twice while the hash grows."""
    cursor: bytes | str = "0"
    match = ("MATCH", f"{prefix.translate(_GLOB)}*") if prefix else ()
    while True:
        cursor, flat = ask("HSCAN", key, cursor, "COUNT", FIELDS_A_CALL, *match)
        for name, value in zip(flat[::2], flat[1::2], strict=True):
            yield read(value, str(name, "utf-8", "replace"))
        if int(cursor) == 0:
            return


def of(ask: _Ask, key: str, paths: Sequence[str]) -> dict[str, Known]:
    """These fields, and what the guard says of them."""
    found: dict[str, Known] = {}
    for start in range(0, len(paths), FIELDS_A_CALL):
        found |= _of(ask, key, paths[start : start + FIELDS_A_CALL])
    return found


def _of(ask: _Ask, key: str, paths: Sequence[str]) -> dict[str, Known]:
    values, states = ask("HMGET", key, *paths), ask("HMGET", f"{key}:guard", *paths)
    held = {path: read(value, path) for path, value in zip(paths, values, strict=True) if value}
    orders: dict[str, list[Order]] = {}
    removals: list[tuple[str, str]] = []
    for path, state in zip(paths, states, strict=True):
        if state:
            it = _state(state)
            orders[path] = [_order(each) for each in (it.put, it.overlay) if each]
            removals += [(path, _removed(path, one)) for one in versions(held.get(path))]
    if removals:
        answers = ask("HMGET", f"{key}:guard", *(name for _, name in removals))
        for (path, _), removal in zip(removals, answers, strict=True):
            if removal:
                orders[path].append(_order(_removal(removal)))
    return {
        path: known(held.get(path), orders.get(path, ()))
        for path in paths
        if path in held or path in orders
    }


def _removed(path: str, version: str) -> str:
    """The guard's field about a removal, as the script names it."""
    return f"-{len(path.encode())} {path}{version}"


def _order(moment: _Moment) -> Order:
    return moment.seq, to_millis(moment.time) if moment.time else ""
