"""What an index of the format `namespace` holds, by slices, and what is known of certain objects.

By sliced scrolls: all versions of both products have them, while each has a point in time of its
own. A search sees what was refreshed; reading by id sees every confirmed write.
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
from bucketcast.targets.elasticsearch.api import Read, fetched, searched
from bucketcast.targets.elasticsearch.client import Requests
from bucketcast.targets.elasticsearch.errors import of_document
from bucketcast.targets.elasticsearch.ids import document_id, is_plain, version_id
from bucketcast.targets.elasticsearch.index import Names

MOST_SLICES = 1024
"""An index's default limit."""
DOCUMENTS_A_PAGE = 2000
DOCUMENTS_A_READ = 500
_KEPT = "5m"
"""How long a scroll waits until its next page is asked for."""
_BUCKET = "Records.s3.bucket.name"
_OBJECT = ("key", "size", "eTag", "versionId", "sequencer")
_PARTS = ["Records.eventTime", _BUCKET, *(f"Records.s3.object.{name}" for name in _OBJECT)]
_FILTER = "filter_path=_scroll_id,_shards.total,_shards.successful,hits.hits._id,hits.hits._source"
_FORBIDDEN, _NOT_FOUND = 403, 404
_NO_INDEX = "index_not_found_exception"
_NewRequests = Callable[[], Requests]
"""The time of all requests of a send is bounded, that of reading an index is not."""


def partitions(requests: Requests, names: Names, count: int) -> list[str]:
    """Slices of the index, once what was written is seen, as far as the user may refresh it."""
    refused = (_FORBIDDEN, _NOT_FOUND)
    answer = requests.ask("POST", f"/{quote(names.visible)}/_refresh", accepted=refused)
    if answer.status == _NOT_FOUND:
        return []
    most = min(count, MOST_SLICES)
    return [encode({"id": number, "max": most}).decode() for number in range(most)]


def rows(
    new_requests: _NewRequests, names: Names, partition: str, prefix: str, timeout: float
) -> Iterator[StoredRow]:
    """Yield the documents of a slice, of other buckets too if the index cannot filter."""
    slice_ = msgspec.json.decode(partition)
    query: dict[str, Any] = {
        "size": DOCUMENTS_A_PAGE,
        "sort": ["_doc"],
        "_source": _PARTS,
        "query": _of_bucket(prefix.partition("/")[0]),
    }
    if slice_["max"] > 1:
        query["slice"] = slice_
    path = f"/{quote(names.visible)}/_search?scroll={_KEPT}&{_FILTER}"
    page = searched(new_requests(), path, query, timeout)
    scroll = page.scroll
    try:
        while page.hits.hits:
            for hit in page.hits.hits:
                stored = read(bytes(hit.source), hit.id if is_plain(hit.id) else "")
                if stored.path.startswith(prefix):
                    yield stored
            more = {"scroll": _KEPT, "scroll_id": scroll}
            page = searched(new_requests(), f"/_search/scroll?{_FILTER}", more, timeout)
            scroll = page.scroll or scroll
    finally:
        with suppress(DeliveryError):  # which ends by itself, later
            new_requests().ask(
                "DELETE", "/_search/scroll", encode({"scroll_id": scroll}), (_NOT_FOUND,)
            )


def of(new_requests: _NewRequests, names: Names, paths: Sequence[str]) -> dict[str, MergedState]:
    """Return these documents, and what the guard says of them."""
    found: dict[str, MergedState] = {}
    for start in range(0, len(paths), DOCUMENTS_A_READ):
        found |= _of(new_requests, names, paths[start : start + DOCUMENTS_A_READ])
    return found


def _of(new_requests: _NewRequests, names: Names, paths: Sequence[str]) -> dict[str, MergedState]:
    ids = [document_id(path, always_hashed=names.hashed) for path in paths]
    guarding = _fetched(new_requests, names.guard, ids)
    visible = _fetched(new_requests, names.visible, ids)
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
        about = _fetched(new_requests, names.guard, versions.values())
        for path, document in zip(versions, about, strict=True):
            orders[path] += _orders(document)
    return merged_states(paths, stored, orders)


def _fetched(new_requests: _NewRequests, index: str, ids: Iterable[str]) -> list[Read]:
    """Return documents of an index; one that is not there, or has no index, is not found.

    Raises:
        DeliveryError: they cannot be read.
    """
    documents = fetched(new_requests(), [encode({"_index": index, "_id": id_}) for id_ in ids])
    for document in documents:
        if document.error and document.error.type != _NO_INDEX:
            raise of_document(0, document.error)
    return documents


def _orders(document: Read) -> Iterator[Order]:
    return guard.orders(guard.guard_document(document.source)) if document.found else iter(())


def _of_bucket(bucket: str) -> dict[str, Any]:
    """Return documents of a bucket, and those whose bucket the index cannot search for."""
    if not bucket:
        return {"match_all": {}}
    unknown = {"bool": {"must_not": {"exists": {"field": _BUCKET}}}}
    return {"bool": {"should": [{"match_phrase": {_BUCKET: bucket}}, unknown]}}
