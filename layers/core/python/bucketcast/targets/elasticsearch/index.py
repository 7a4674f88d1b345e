"""The indexes: created if missing, checked for their format, swept."""

from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from bucketcast.errors import Retryable
from bucketcast.limits import DAY_MS, TOMBSTONE_DAYS
from bucketcast.shapes.minio import encode
from bucketcast.targets.elasticsearch.answers import BLOCKED
from bucketcast.targets.elasticsearch.api import Hit, search, send_writes
from bucketcast.targets.elasticsearch.client import Requests, read
from bucketcast.targets.elasticsearch.ids import is_plain
from bucketcast.targets.elasticsearch.settings import GUARD

CREATE_SECONDS = 15.0
"""Seconds to wait for the creation of an index, which involves the whole cluster."""
SAMPLE_SIZE = 100
_NOT_FOUND, _BAD_REQUEST, _FORBIDDEN = 404, 400, 403
_BLOCKS = frozenset(
    f"index.blocks.{name}" for name in ("read_only", "read_only_allow_delete", "write")
)
_TEXT = {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 8191}}}
"""The server's default mapping of text, but with room for the longest escaped key."""
_METADATA = {"type": "flattened"}
"""Of names that users choose: each would be a field, and an index takes 1,000 by default."""
_FLATTENED = b'{"type":"flattened"}'
_SUBSTITUTES = (_FLATTENED, b'{"type":"flat_object"}', b'{"type":"object","enabled":false}')
"""OpenSearch knows the second since 2.7; older versions, and those without X-Pack, neither."""
_OBJECT = {
    "s3": {"properties": {"object": {"properties": {"key": _TEXT, "userMetadata": _METADATA}}}}
}
RECORDS, CLOUDEVENTS = "Records.eventTime", "time"
"""The field of the event's time, by shape."""
_FIELDS: dict[str, Any] = {
    RECORDS: {"Records": {"properties": {"eventTime": {"type": "date"}, **_OBJECT}}},
    CLOUDEVENTS: {"time": {"type": "date"}, "data": {"properties": _OBJECT}},
}
_GUARD_MAPPINGS = {"dynamic": False, "properties": {"noted_at": {"type": "date"}}}


class Names(NamedTuple):
    """The names of the guard and the visible index."""

    guard: str
    visible: str


class Layout(msgspec.Struct):
    """Our metadata in the mapping of an index that we created."""

    format: str = ""


class _Meta(msgspec.Struct):
    bucketcast: Layout = msgspec.field(default_factory=Layout)


class _Mappings(msgspec.Struct):
    meta: _Meta = msgspec.field(name="_meta", default_factory=_Meta)


class _Index(msgspec.Struct):
    mappings: _Mappings


class _Settings(msgspec.Struct):
    settings: dict[str, str]


_decode_settings = msgspec.json.Decoder(dict[str, _Settings]).decode


def prepare(requests: Requests, index: str, form: str, time: str) -> Names:
    """Create missing indexes, and return their names; `time` is one of `_FIELDS`.

    Raises:
        DeliveryError: they cannot be created, or the index is in another format.
    """
    names = find(requests, index, form)
    if form == "namespace" and _layout(requests, names.guard) is None:
        _create(requests, names.guard, _GUARD_MAPPINGS, Layout(form))
    if _layout(requests, index) is None:
        _create(requests, index, _event_mappings(time), Layout(form))
    return find(requests, index, form)  # others may have created them just before


def find(requests: Requests, index: str, form: str) -> Names:
    """Return the names of the indexes, without creating them.

    Raises:
        DeliveryError: they cannot be read, or the index is in another format.
    """
    guard = index + GUARD
    guard_layout, index_layout = _layout(requests, guard), _layout(requests, index)
    if index_layout is None and guard_layout is None:
        return Names(guard, index)
    layouts = (layout for layout in (index_layout, guard_layout) if layout)
    format_ = next((layout.format for layout in layouts if layout.format), "")
    if index_layout and not format_:  # we did not create it: some of its ids tell
        sample = _search(requests, index, {"size": SAMPLE_SIZE, "_source": False})
        if sample:
            format_ = "namespace" if any(is_plain(hit.id) for hit in sample) else "access"
    if format_ and format_ != form:
        raise Retryable(
            f"index {index} is in the format {format_}: set format to it, or index to another "
            f"name, or delete the index and {guard}"
        )
    return Names(guard, index)


def check_writable(requests: Requests, names: Names, form: str) -> None:
    """Check that existing indexes accept writes.

    Raises:
        Retryable: one of them is blocked.
    """
    for index in (names.visible, names.guard) if form == "namespace" else (names.visible,):
        path = f"/{quote(index)}/_settings/index.blocks.*?flat_settings=true"
        response = requests.send("GET", path, accepted=(_FORBIDDEN, _NOT_FOUND))
        if response.status in (_FORBIDDEN, _NOT_FOUND):  # then only a write shows it
            continue
        all_settings = read("_settings", _decode_settings, response.body).values()
        blocks = sorted(
            name
            for index_settings in all_settings
            for name, value in index_settings.settings.items()
            if name in _BLOCKS and value == "true"
        )
        if blocks:
            raise Retryable.hinted(
                f"index {index} is read-only: {', '.join(blocks)};", BLOCKED, " "
            )


def sweep(requests: Requests, guard: str, now: int, limit: int) -> int:
    """Delete up to `limit` expired documents; return their number."""
    query = {
        "query": {"range": {"noted_at": {"lt": now - TOMBSTONE_DAYS * DAY_MS}}},
        "size": limit,
        "_source": False,
        "seq_no_primary_term": True,
    }
    hits = _search(requests, guard, query)
    references = (
        {"_index": guard, "_id": hit.id, "if_seq_no": hit.seq_no, "if_primary_term": hit.term}
        for hit in hits
    )
    deletes = [encode({"delete": reference}) + b"\n" for reference in references]
    for _ in send_writes(requests, deletes):
        pass  # a document that was written meanwhile stays
    return len(hits)


def _layout(requests: Requests, index: str) -> Layout | None:
    """Return the layout of an index; None if it does not exist."""
    response = requests.send("GET", f"/{quote(index)}/_mapping", accepted=(_NOT_FOUND,))
    if response.status == _NOT_FOUND:
        return None
    try:
        (index_,) = msgspec.json.decode(response.body, type=dict[str, _Index]).values()
    except ValueError as error:  # the unpacking fails for an alias of several indexes
        raise Retryable(
            f"index {index} has to be an index, or an alias of one index, on Elasticsearch or "
            f"OpenSearch: see url ({error})"
        ) from None
    return index_.mappings.meta.bucketcast


def _event_mappings(time: str) -> dict[str, Any]:
    """Return the mapping of documents with events."""
    return {
        "date_detection": False,  # a key such as 2026-01-02 must not make all keys dates
        "properties": {"@timestamp": {"type": "alias", "path": time}, **_FIELDS[time]},
    }


def _create(requests: Requests, index: str, mappings: dict[str, Any], layout: Layout) -> None:
    path, body = f"/{quote(index)}", encode({"mappings": {"_meta": _Meta(layout), **mappings}})
    for substitute in _SUBSTITUTES:
        one = body.replace(_FLATTENED, substitute)
        response = requests.send("PUT", path, one, (_BAD_REQUEST,), timeout=CREATE_SECONDS)
        if b"No handler for type" not in response.body:
            break
    if (
        response.status == _BAD_REQUEST
        and b"resource_already_exists_exception" not in response.body
    ):
        raise Retryable(f"index {index} cannot be created: {response.body[:1000].decode()}")


def _search(requests: Requests, index: str, query: dict[str, Any]) -> list[Hit]:
    return search(requests, f"/{quote(index)}/_search", query).hits.hits
