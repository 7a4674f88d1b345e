"""What an index of the format `namespace` holds, by slices, and what is known of certain objects.

By sliced scrolls: all versions of both products have them, while each has a point in time of its
own. A search sees what was refreshed; reading by id sees every confirmed write.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import msgspec

from bucketcast.errors import DeliveryError, Retryable
from bucketcast.held import Held, Known, Order, known, read
from bucketcast.shapes.minio import encode
from bucketcast.targets.elasticsearch import registers
from bucketcast.targets.elasticsearch.cluster import Talk
from bucketcast.targets.elasticsearch.ids import document_id, is_plain
from bucketcast.targets.elasticsearch.index import Names
from bucketcast.targets.elasticsearch.mirror import GUARD, VISIBLE, Read, fetched
from bucketcast.targets.elasticsearch.outcome import of_document

MOST_SLICES = 1024
"""As many an index takes unless it is told otherwise."""
DOCUMENTS_A_PAGE = 2000
DOCUMENTS_A_READ = 500
_KEPT = "5m"
"""How long a scroll waits until its next page is asked for."""
_BUCKET = "Records.s3.bucket.name"
_OBJECT = ("key", "size", "eTag", "versionId", "sequencer")
_PARTS = ["Records.eventTime", _BUCKET, *(f"Records.s3.object.{name}" for name in _OBJECT)]
_FILTER = "filter_path=_scroll_id,hits.hits._id,hits.hits._source"
_FORBIDDEN, _NOT_FOUND = 403, 404
_NO_INDEX = "index_not_found_exception"
_Talks = Callable[[], Talk]
"""The time of a talk is bounded, that of reading an index is not: each request is a talk."""


class _Hit(msgspec.Struct):
    id: str = msgspec.field(name="_id")
    source: msgspec.Raw = msgspec.field(name="_source", default=registers.GONE)


class _Hits(msgspec.Struct, frozen=True):
    hits: list[_Hit] = []


class _Page(msgspec.Struct):
    scroll: str = msgspec.field(name="_scroll_id", default="")
    hits: _Hits = _Hits()


_page = msgspec.json.Decoder(_Page).decode


def shares(talk: Talk, names: Names, count: int) -> list[str]:
    """Slices of the index, once what was written is seen, as far as the user may refresh it."""
    refused = (_FORBIDDEN, _NOT_FOUND)
    answer = talk.ask("POST", f"/{quote(names.visible)}/_refresh", accepted=refused)
    if answer.status == _NOT_FOUND:
        return []
    most = min(count, MOST_SLICES)
    return [encode({"id": place, "max": most}).decode() for place in range(most)]


def rows(talks: _Talks, names: Names, share: str, prefix: str, patience: float) -> Iterator[Held]:
    """The documents of a slice, without those of other buckets as far as the index knows them."""
    slice_ = msgspec.json.decode(share)
    query: dict[str, Any] = {
        "size": DOCUMENTS_A_PAGE,
        "sort": ["_doc"],
        "_source": _PARTS,
        "query": _of_bucket(prefix.partition("/")[0]),
    }
    if slice_["max"] > 1:
        query["slice"] = slice_
    path = f"/{quote(names.visible)}/_search?scroll={_KEPT}&{_FILTER}"
    page = _asked(talks(), path, query, patience)
    scroll = page.scroll
    try:
        while page.hits.hits:
            for hit in page.hits.hits:
                held = read(bytes(hit.source), hit.id if is_plain(hit.id) else "")
                if held.path.startswith(prefix):
                    yield held
            more = {"scroll": _KEPT, "scroll_id": scroll}
            page = _asked(talks(), f"/_search/scroll?{_FILTER}", more, patience)
            scroll = page.scroll or scroll
    finally:
        with suppress(DeliveryError):  # which ends by itself, later
            talks().ask("DELETE", "/_search/scroll", encode({"scroll_id": scroll}), (_NOT_FOUND,))


def of(talks: _Talks, names: Names, paths: Sequence[str]) -> dict[str, Known]:
    """These documents, and what the guard says of them."""
    found: dict[str, Known] = {}
    for start in range(0, len(paths), DOCUMENTS_A_READ):
        part = paths[start : start + DOCUMENTS_A_READ]
        ids = [document_id(path, always_hashed=names.hashed) for path in part]
        asked = [
            encode({"_index": names[side], "_id": id_}) for id_ in ids for side in (GUARD, VISIBLE)
        ]
        documents = iter(fetched(talks(), asked))
        for path, guard, visible in zip(part, documents, documents, strict=True):
            if _there(guard) | _there(visible):
                orders = _orders(registers.known(guard.source)) if guard.found else ()
                found[path] = known(read(visible.source, path) if visible.found else None, orders)
    return found


def _there(document: Read) -> bool:
    """Whether it is there; an index that is not has none.

    Raises:
        DeliveryError: it cannot be read.
    """
    if document.error and document.error.type != _NO_INDEX:
        raise of_document(0, document.error)
    return document.found


def _orders(said: registers.Known) -> Iterator[Order]:
    if said.put:
        yield said.put.moment
    yield from said.removed.values()
    yield from (("", time) for time in said.removed_at.values())
    if said.overlay:
        yield "", said.overlay.time


def _asked(talk: Talk, path: str, body: dict[str, Any], patience: float) -> _Page:
    answer = talk.ask("POST", path, encode(body), patience=patience)
    try:
        return _page(answer.body)
    except msgspec.DecodeError as error:
        raise Retryable(
            f"the answer to _search is not Elasticsearch's ({error}): see url"
        ) from None


def _of_bucket(bucket: str) -> dict[str, Any]:
    """Documents of a bucket, and those whose bucket the index cannot search for."""
    if not bucket:
        return {"match_all": {}}
    unknown = {"bool": {"must_not": {"exists": {"field": _BUCKET}}}}
    return {"bool": {"should": [{"match_phrase": {_BUCKET: bucket}}, unknown]}}
