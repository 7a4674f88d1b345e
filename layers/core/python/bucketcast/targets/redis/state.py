"""What a hash of the format `namespace` holds, and what is known of certain fields."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bucketcast.mirror.rows import MergedState, Order, StoredRow, merged_states, read, versions

FIELDS_A_CALL = 500
_Ask = Callable[..., Any]
"""Say a command, get its answer."""
_GLOB: Mapping[int, str] = str.maketrans({each: f"\\{each}" for each in "\\*?["})


class _Moment(msgspec.Struct):
    """What the script keeps of a put, a removal or an overlay, as far as it is asked for here."""

    time: str = ""
    seq: str = ""
    at: str = ""


class _State(msgspec.Struct):
    """What the script keeps of a path; without a put it is `false`."""

    put: _Moment | bool = False


_state = msgspec.msgpack.Decoder(_State).decode
_moment = msgspec.msgpack.Decoder(_Moment).decode


def rows(ask: _Ask, key: str, prefix: str) -> Iterator[StoredRow]:
    """Yield all fields whose name begins with `prefix`, some of them twice while the hash grows."""
    cursor: bytes | str = "0"
    match = ("MATCH", f"{prefix.translate(_GLOB)}*") if prefix else ()
    while True:
        cursor, flat = ask("HSCAN", key, cursor, "COUNT", FIELDS_A_CALL, *match)
        for name, value in zip(flat[::2], flat[1::2], strict=True):
            yield read(value, str(name, "utf-8", "replace"))
        if int(cursor) == 0:
            return


def of(ask: _Ask, key: str, paths: Sequence[str]) -> dict[str, MergedState]:
    """Return these fields, and what the guard says of them."""
    found: dict[str, MergedState] = {}
    for start in range(0, len(paths), FIELDS_A_CALL):
        found |= _of(ask, key, paths[start : start + FIELDS_A_CALL])
    return found


def _of(ask: _Ask, key: str, paths: Sequence[str]) -> dict[str, MergedState]:
    values, states = ask("HMGET", key, *paths), ask("HMGET", f"{key}:guard", *paths)
    stored = {path: read(value, path) for path, value in zip(paths, values, strict=True) if value}
    orders: dict[str, list[Order]] = {}
    names: list[tuple[str, str]] = []
    for path, state in zip(paths, states, strict=True):
        if state:
            put = _state(state).put
            orders[path] = list(_orders(put)) if isinstance(put, _Moment) else []
            of = versions(stored.get(path))
            names += [(path, _field(kind, path, one)) for kind in "-+" for one in of]
    if names:
        answers = ask("HMGET", f"{key}:guard", *(name for _, name in names))
        for (path, _), answer in zip(names, answers, strict=True):
            if answer:
                orders[path] += _orders(_moment(answer))
    return merged_states(paths, stored, orders)


def _field(kind: str, path: str, version: str) -> str:
    """Return the guard's field about removals or overlays of a version, as the script names it."""
    return f"{kind}{len(path.encode())} {path}{version}"


def _orders(moment: _Moment) -> Iterator[Order]:
    if moment.time:
        yield moment.seq, moment.time
    if moment.at:
        yield "", moment.at
