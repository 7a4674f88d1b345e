"""Read the index, by slices, and the guard of the format `namespace`.

Slices are read by sliced scrolls, which all versions of both products have, while their points in
time differ. A search sees refreshed documents only; reading by id sees every confirmed write.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import msgspec

from bucketcast.errors import DeliveryError
from bucketcast.mirror.rows import MergedState, Order, StoredRow, merged_states, read
from bucketcast.shapes.minio import encode
from bucketcast.targets.elasticsearch import guard
from bucketcast.targets.elasticsearch.api import Document, fetch, search
from bucketcast.targets.elasticsearch.client import Requests
from bucketcast.targets.elasticsearch.errors import of_document
from bucketcast.targets.elasticsearch.ids import document_id, is_plain, version_id
from bucketcast.targets.elasticsearch.index import Names

MAX_SLICES = 1024
"""An index's default limit."""
DOCUMENTS_PER_PAGE = 2000
_KEPT = "5m"
"""The time for which a scroll waits for the request of its next page."""
_BUCKET = "Records.s3.bucket.name"
_OBJECT = ("key", "size", "eTag", "versionId", "sequencer")
_PARTS = ["Records.eventTime", _BUCKET, *(f"Records.s3.object.{name}" for name in _OBJECT)]
_FILTER = "filter_path=_scroll_id,_shards.total,_shards.successful,hits.hits._id,hits.hits._source"
_FORBIDDEN, _NOT_FOUND = 403, 404
_NO_INDEX = "index_not_found_exception"
_NewRequests = Callable[[], Requests]
"""The requests of a send have a time limit, those that read an index have none."""


def partitions(requests: Requests, names: Names, count: int) -> list[str]:
    """Return slices of the index, after refreshing it if the user may."""
    refused = (_FORBIDDEN, _NOT_FOUND)
    response = requests.send("POST", f"/{quote(names.visible)}/_refresh", accepted=refused)
    if response.status == _NOT_FOUND:
        return []
    slices = min(count, MAX_SLICES)
    return [encode({"id": number, "max": slices}).decode() for number in range(slices)]


def read_rows(
    new_requests: _NewRequests, names: Names, partition: str, prefix: str, timeout: float
) -> Iterator[StoredRow]:
    """Yield the documents of a slice whose path begins with `prefix`."""
    slice_ = msgspec.json.decode(partition)
    query: dict[str, Any] = {
        "size": DOCUMENTS_PER_PAGE,
        "sort": ["_doc"],
        "_source": _PARTS,
        "query": _of_bucket(prefix.partition("/")[0]),
    }
    if slice_["max"] > 1:
        query["slice"] = slice_
    path = f"/{quote(names.visible)}/_search?scroll={_KEPT}&{_FILTER}"
    page = search(new_requests(), path, query, timeout)
    scroll = page.scroll
    try:
        while page.hits.hits:
            for hit in page.hits.hits:
                stored = read(bytes(hit.source), hit.id if is_plain(hit.id) else "")
                if stored.path.startswith(prefix):
                    yield stored
            more = {"scroll": _KEPT, "scroll_id": scroll}
            page = search(new_requests(), f"/_search/scroll?{_FILTER}", more, timeout)
            scroll = page.scroll or scroll
    finally:
        with suppress(DeliveryError):  # the scroll expires by itself
            new_requests().send(
                "DELETE", "/_search/scroll", encode({"scroll_id": scroll}), (_NOT_FOUND,)
            )


def read_states(
    new_requests: _NewRequests, names: Names, paths: Sequence[str]
) -> dict[str, MergedState]:
    """Return the merged states of these paths, from their documents and the guard."""
    ids = [document_id(path) for path in paths]
    guarding = _fetch(new_requests, names.guard, ids)
    visible = _fetch(new_requests, names.visible, ids)
    stored = {
        path: read(document.source, path)
        for path, document in zip(paths, visible, strict=True)
        if document.found
    }
    orders = {
        path: list(_orders(document))
        for path, document in zip(paths, guarding, strict=True)
        if document.found
    }
    named = {path: stored[path].version_id for path in orders if path in stored}
    versions = {path: version_id(path, version) for path, version in named.items() if version}
    if versions:
        version_documents = _fetch(new_requests, names.guard, versions.values())
        for path, document in zip(versions, version_documents, strict=True):
            orders[path] += _orders(document)
    return merged_states(paths, stored, orders)


def _fetch(new_requests: _NewRequests, index: str, ids: Iterable[str]) -> list[Document]:
    """Return documents of an index; a missing document, or one without an index, is not found.

    Raises:
        DeliveryError: they cannot be read.
    """
    documents = fetch(new_requests(), [encode({"_index": index, "_id": id_}) for id_ in ids])
    for document in documents:
        if document.error and document.error.type != _NO_INDEX:
            raise of_document(0, document.error)
    return documents


def _orders(document: Document) -> Iterator[Order]:
    return guard.orders(guard.parse_guard(document.source)) if document.found else iter(())


def _of_bucket(bucket: str) -> dict[str, Any]:
    """Return the query for a bucket's documents, and those whose bucket cannot be searched."""
    if not bucket:
        return {"match_all": {}}
    unknown = {"bool": {"must_not": {"exists": {"field": _BUCKET}}}}
    return {"bool": {"should": [{"match_phrase": {_BUCKET: bucket}}, unknown]}}
