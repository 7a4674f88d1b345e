"""The indexes: made when absent, never used for another format than they are in, swept."""

from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from bucketcast.errors import Retryable
from bucketcast.limits import DAY_MS, TOMBSTONE_DAYS
from bucketcast.shapes.minio import encode
from bucketcast.targets.elasticsearch.api import Hit, searched, sent
from bucketcast.targets.elasticsearch.client import Requests
from bucketcast.targets.elasticsearch.errors import BLOCKED
from bucketcast.targets.elasticsearch.ids import is_hashed, is_plain
from bucketcast.targets.elasticsearch.settings import GUARD

MAKING = 15.0
"""Seconds that a server may take to make an index, which it does with its whole cluster."""
_SWEPT = 1000
_LOOKED_AT = 100
_NOT_FOUND, _BAD_REQUEST, _FORBIDDEN = 404, 400, 403
_BLOCKS = frozenset(
    f"index.blocks.{name}" for name in ("read_only", "read_only_allow_delete", "write")
)
_TEXT = {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 8191}}}
"""As the server maps text by itself, but found by its whole, however long an escaped key gets."""
_OBJECT = {"s3": {"properties": {"object": {"properties": {"key": _TEXT}}}}}
RECORDS, CLOUDEVENTS = "Records.eventTime", "time"
"""Where documents have the event's time, by how they are written."""
_FIELDS: dict[str, Any] = {
    RECORDS: {"Records": {"properties": {"eventTime": {"type": "date"}, **_OBJECT}}},
    CLOUDEVENTS: {"time": {"type": "date"}, "data": {"properties": _OBJECT}},
}
_GUARD_MAPPINGS = {"dynamic": False, "properties": {"noted_at": {"type": "date"}}}


class Names(NamedTuple):
    """Of the guard and of the visible index, and whether MinIO has hashed its ids."""

    guard: str
    visible: str
    hashed: bool = False


class Layout(msgspec.Struct):
    """What we note of an index when we make it."""

    format: str = ""
    hashed: bool = False


class _Meta(msgspec.Struct):
    bucketcast: Layout = msgspec.field(default_factory=Layout)


class _Mappings(msgspec.Struct):
    meta: _Meta = msgspec.field(name="_meta", default_factory=_Meta)


class _Index(msgspec.Struct):
    mappings: _Mappings


class _Settings(msgspec.Struct):
    settings: dict[str, str]


def ready(requests: Requests, index: str, form: str, time: str) -> Names:
    """Return the indexes of this format, created if absent; `time` is one of `_FIELDS`.

    Raises:
        DeliveryError: among others, the index is in another format.
    """
    names = found(requests, index, form)
    if form == "access":
        if _layout(requests, index) is None:
            _make(requests, index, _events(time), Layout(form))
        return names
    if _layout(requests, names.guard) is None:
        _make(requests, names.guard, _GUARD_MAPPINGS, Layout(form, hashed=names.hashed))
    if _layout(requests, index) is None:
        _make(requests, index, _events(time), Layout(form))
    return found(requests, index, form)  # others may have made them just before


def found(requests: Requests, index: str, form: str) -> Names:
    """Return the same, without making anything."""
    guard = index + GUARD
    kept, own = _layout(requests, guard), _layout(requests, index)
    if own is None and kept is None:
        return Names(guard, index)
    format_ = (own.format if own else "") or (kept.format if kept else "")
    ids = [] if format_ or own is None else _ids(requests, index)
    plain, hashed = any(map(is_plain, ids)), bool(ids) and all(map(is_hashed, ids))
    if ids and not format_:
        format_ = "namespace" if plain or hashed else "access"
    if format_ and format_ != form:
        raise Retryable(
            f"index {index} is in the format {format_}: set format to it, or index to another "
            f"name, or delete the index and {guard}"
        )
    return Names(guard, index, kept.hashed if kept else hashed)


def refuse_blocked(requests: Requests, names: Names, form: str) -> None:
    """See that the indexes that exist take writes.

    Raises:
        Retryable: a block of one refuses them.
    """
    for index in (names.visible, names.guard) if form == "namespace" else (names.visible,):
        path = f"/{quote(index)}/_settings/index.blocks.*?flat_settings=true"
        answer = requests.ask("GET", path, accepted=(_FORBIDDEN, _NOT_FOUND))
        if answer.status in (_FORBIDDEN, _NOT_FOUND):  # then only a write shows it
            continue
        found = msgspec.json.decode(answer.body, type=dict[str, _Settings]).values()
        blocks = sorted(
            name
            for each in found
            for name, text in each.settings.items()
            if name in _BLOCKS and text == "true"
        )
        if blocks:
            raise Retryable.hinted(
                f"index {index} is read-only: {', '.join(blocks)};", BLOCKED, " "
            )


def sweep(requests: Requests, guard: str, now: int) -> bool:
    """Forget what is too old to matter, a bounded part of it; whether there may be more."""
    query = {
        "query": {"range": {"noted_at": {"lt": now - TOMBSTONE_DAYS * DAY_MS}}},
        "size": _SWEPT,
        "_source": False,
        "seq_no_primary_term": True,
    }
    hits = _search(requests, guard, query)
    about = (
        {"_index": guard, "_id": hit.id, "if_seq_no": hit.seq_no, "if_primary_term": hit.term}
        for hit in hits
    )
    for _ in sent(requests, [encode({"delete": each}) + b"\n" for each in about]):
        pass  # one that was written meanwhile stays
    return len(hits) == _SWEPT


def _layout(requests: Requests, index: str) -> Layout | None:
    """Return what is noted of an index; None where there is none."""
    answer = requests.ask("GET", f"/{quote(index)}/_mapping", accepted=(_NOT_FOUND,))
    if answer.status == _NOT_FOUND:
        return None
    try:
        (one,) = msgspec.json.decode(answer.body, type=dict[str, _Index]).values()
    except ValueError as error:  # also of the unpacking: an alias of several
        raise Retryable(
            f"index {index} has to be one index, or an alias of one, on Elasticsearch or "
            f"OpenSearch: see url ({error})"
        ) from None
    return one.mappings.meta.bucketcast


def _events(time: str) -> dict[str, Any]:
    """Return the mapping of documents that hold events."""
    return {
        "date_detection": False,  # a key such as 2026-01-02 must not make all keys dates
        "properties": {"@timestamp": {"type": "alias", "path": time}, **_FIELDS[time]},
    }


def _make(requests: Requests, index: str, mappings: dict[str, Any], layout: Layout) -> None:
    body = {"mappings": {"_meta": _Meta(layout), **mappings}}
    path = f"/{quote(index)}"
    answer = requests.ask("PUT", path, encode(body), (_BAD_REQUEST,), timeout=MAKING)
    if answer.status == _BAD_REQUEST and b"resource_already_exists_exception" not in answer.body:
        raise Retryable(f"index {index} cannot be made: {answer.body[:1000].decode()}")


def _ids(requests: Requests, index: str) -> list[str]:
    """Return some ids of an index that others made."""
    query = {"size": _LOOKED_AT, "_source": False}
    return [hit.id for hit in _search(requests, index, query)]


def _search(requests: Requests, index: str, query: dict[str, Any]) -> list[Hit]:
    return searched(requests, f"/{quote(index)}/_search", query).hits.hits
