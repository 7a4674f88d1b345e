"""The server's calls: many writes or reads by id in few requests, and searches."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec

from bucketcast.errors import Retryable
from bucketcast.mirror.join import HIDDEN
from bucketcast.shapes.minio import encode
from bucketcast.targets.elasticsearch.client import Requests, read
from bucketcast.targets.elasticsearch.errors import TOO_LARGE, Error

MAX_REQUEST_BYTES = 8 * 1024 * 1024
"""Maximum size of a request; the smallest hosted servers accept 10 MiB."""
_BULK = (
    "/_bulk?timeout=10s&filter_path=items.*.status,items.*._seq_no,items.*._primary_term,"
    "items.*.error.type,items.*.error.reason,items.*.error.caused_by.reason"
)
"""A server that cannot write reports it before our own time-out."""

_MGET = (
    "/_mget?filter_path=docs.found,docs._seq_no,docs._primary_term,docs._source,docs.error.type,"
    "docs.error.reason"
)


class Item(msgspec.Struct, gc=False):
    """The result of one write; `seq_no` and `term` identify the version that it created."""

    status: int
    seq_no: int = msgspec.field(name="_seq_no", default=-1)
    term: int = msgspec.field(name="_primary_term", default=-1)
    error: Error | None = None


class _Entry(msgspec.Struct, gc=False):
    """An entry of the response to `_bulk`: one of the fields, by the write's verb."""

    index: Item | None = None
    create: Item | None = None
    delete: Item | None = None


class _BulkResponse(msgspec.Struct):
    items: list[_Entry]


_decode = msgspec.json.Decoder(_BulkResponse).decode


def to_one_line(document: bytes) -> bytes:
    """Return the same JSON on one line, as a bulk request needs it."""
    if b"\n" in document or b"\r" in document:
        return msgspec.json.format(document, indent=-1)
    return document


def send_writes(requests: Requests, writes: Sequence[bytes]) -> Iterator[Item]:
    """Write in bulk requests; yield the result of each write, in their order.

    Raises:
        DeliveryError: this and all later writes were not confirmed.
    """
    return chain.from_iterable(_send_parts(requests, writes))


def _send_parts(requests: Requests, writes: Sequence[bytes]) -> Iterator[Sequence[Item]]:
    """Yield the results of each request."""
    start = size = 0
    for end, write in enumerate(writes):
        if size and size + len(write) > MAX_REQUEST_BYTES:
            yield from _send_part(requests, writes[start:end])
            start, size = end, 0
        size += len(write)
    if start < len(writes):
        yield from _send_part(requests, writes[start:])


def _send_part(requests: Requests, writes: Sequence[bytes]) -> Iterator[Sequence[Item]]:
    """Send one request; halve it if a server or proxy refuses its size."""
    response = requests.send("POST", _BULK, b"".join(writes), accepted=(TOO_LARGE,))
    if response.status == TOO_LARGE and len(writes) > 1:
        half = len(writes) // 2
        yield from _send_part(requests, writes[:half])
        yield from _send_part(requests, writes[half:])
    elif response.status == TOO_LARGE:
        yield [Item(TOO_LARGE, error=Error("413", f"{len(writes[0])} bytes"))]
    else:
        yield _items(response.body, len(writes))


def _items(body: bytes, count: int) -> Sequence[Item]:
    entries = read("_bulk", _decode, body).items
    items = [item for each in entries if (item := each.create or each.index or each.delete)]
    if len(items) != count:
        raise Retryable(f"the answer to _bulk is about {len(items)} writes instead of {count}")
    return items


class Document(msgspec.Struct, gc=False):
    """A document in the response of `_mget`."""

    found: bool = False
    seq_no: int = msgspec.field(name="_seq_no", default=-1)
    term: int = msgspec.field(name="_primary_term", default=-1)
    source: msgspec.Raw = msgspec.field(name="_source", default=msgspec.Raw(b"null"))
    error: Error | None = None


class _Documents(msgspec.Struct):
    docs: list[Document]


_decode_documents = msgspec.json.Decoder(_Documents).decode


def fetch(requests: Requests, references: Iterable[bytes]) -> list[Document]:
    """Return documents by their references, `{"_index": …, "_id": …}`.

    Raises:
        DeliveryError: they cannot be read; an error about one of them is in its `error`.
    """
    docs = list(references)
    if not docs:  # the server refuses an empty request
        return []
    response = requests.send("POST", _MGET, b'{"docs":[%b]}' % b",".join(docs))
    return read("_mget", _decode_documents, response.body).docs


class Hit(msgspec.Struct):
    """A document that a search found; without `_source`, `source` is `HIDDEN`."""

    id: str = msgspec.field(name="_id")
    seq_no: int = msgspec.field(name="_seq_no", default=-1)
    term: int = msgspec.field(name="_primary_term", default=-1)
    source: msgspec.Raw = msgspec.field(name="_source", default=HIDDEN)


class _Hits(msgspec.Struct, frozen=True):
    hits: list[Hit] = []


class _Shards(msgspec.Struct):
    total: int
    successful: int


class Page(msgspec.Struct):
    """The result of a search, the number of its shards, and the id of its scroll, if any."""

    shards: _Shards = msgspec.field(name="_shards")
    scroll: str = msgspec.field(name="_scroll_id", default="")
    hits: _Hits = _Hits()


_decode_page = msgspec.json.Decoder(Page).decode


def search(requests: Requests, path: str, query: dict[str, Any], timeout: float = 0.0) -> Page:
    """Return the result of a search in all shards.

    Raises:
        DeliveryError: the server does not answer, or not for every shard.
    """
    response = requests.send("POST", path, encode(query), timeout=timeout)
    page = read("_search", _decode_page, response.body)
    if page.shards.successful < page.shards.total:
        raise Retryable(
            f"only {page.shards.successful} of {page.shards.total} shards could be searched: see "
            "the cluster's health"
        )
    return page
