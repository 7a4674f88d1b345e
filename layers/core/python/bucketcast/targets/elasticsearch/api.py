"""The server's calls: many writes or reads by id in few requests, and searches."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from bucketcast.errors import Retryable
from bucketcast.mirror.join import HIDDEN
from bucketcast.shapes.minio import encode
from bucketcast.targets.elasticsearch.client import Requests
from bucketcast.targets.elasticsearch.errors import TOO_LARGE, Error

MOST_BYTES = 8 * 1024 * 1024
"""Of a request; the smallest servers that are for rent take 10 MiB."""
_BULK = (
    "/_bulk?timeout=10s&filter_path=items.*.status,items.*._seq_no,items.*._primary_term,"
    "items.*.error.type,items.*.error.reason"
)
"""A server that cannot write says so in less time than it takes us to give it up."""

_MGET = (
    "/_mget?filter_path=docs.found,docs._seq_no,docs._primary_term,docs._source,docs.error.type,"
    "docs.error.reason"
)


class Item(msgspec.Struct, gc=False):
    """What became of one write; `seq_no` and `term` name the version that it made."""

    status: int
    seq_no: int = msgspec.field(name="_seq_no", default=-1)
    term: int = msgspec.field(name="_primary_term", default=-1)
    error: Error | None = None


class _Answer(msgspec.Struct):
    items: list[dict[str, Item]]


_decode = msgspec.json.Decoder(_Answer).decode


def append(index: str, document: bytes) -> bytes:
    """Return a write of a new document, whose id the server makes."""
    return b'{"index":{"_index":%b}}\n%b\n' % (encode(index), one_line(document))


def one_line(document: bytes) -> bytes:
    """Return the same JSON on one line, as a bulk request needs it."""
    if b"\n" in document or b"\r" in document:
        return msgspec.json.format(document, indent=-1)
    return document


def sent(requests: Requests, writes: Sequence[bytes]) -> Iterator[Item]:
    """Write in bulk requests; yield the result of each write, in their order.

    Raises:
        DeliveryError: this and all further ones were not confirmed.
    """
    start = size = 0
    for end, write in enumerate(writes):
        if size and size + len(write) > MOST_BYTES:
            yield from _part(requests, writes[start:end])
            start, size = end, 0
        size += len(write)
    if start < len(writes):
        yield from _part(requests, writes[start:])


def _part(requests: Requests, writes: Sequence[bytes]) -> Iterator[Item]:
    """Send one request; halve it if a server or proxy refuses its size."""
    answer = requests.ask("POST", _BULK, b"".join(writes), accepted=(TOO_LARGE,))
    if answer.status == TOO_LARGE and len(writes) > 1:
        half = len(writes) // 2
        yield from _part(requests, writes[:half])
        yield from _part(requests, writes[half:])
    elif answer.status == TOO_LARGE:
        yield Item(TOO_LARGE, error=Error("413", f"{len(writes[0])} bytes"))
    else:
        yield from _items(answer.body, len(writes))


def _items(body: bytes, count: int) -> Iterator[Item]:
    try:
        items = [item for each in _decode(body).items for item in each.values()]
    except msgspec.DecodeError as error:
        raise Retryable(f"the answer to _bulk is not Elasticsearch's ({error}): see url") from None
    if len(items) != count:
        raise Retryable(f"the answer to _bulk is about {len(items)} writes, asked were {count}")
    yield from items


class Read(msgspec.Struct, gc=False):
    """A document as `_mget` answers it."""

    found: bool = False
    seq_no: int = msgspec.field(name="_seq_no", default=-1)
    term: int = msgspec.field(name="_primary_term", default=-1)
    source: msgspec.Raw = msgspec.field(name="_source", default=msgspec.Raw(b"null"))
    error: Error | None = None


class _Documents(msgspec.Struct):
    docs: list[Read]


_decode_documents = msgspec.json.Decoder(_Documents).decode


def fetched(requests: Requests, wanted: Iterable[bytes]) -> list[Read]:
    """Return documents by id, each asked for as `{"_index": …, "_id": …}`.

    Raises:
        DeliveryError: they cannot be read; what is about one of them stands in its `error`.
    """
    docs = list(wanted)
    if not docs:  # which the server does not take
        return []
    answer = requests.ask("POST", _MGET, b'{"docs":[%b]}' % b",".join(docs))
    try:
        return _decode_documents(answer.body).docs
    except msgspec.DecodeError as error:
        raise Retryable(f"the answer to _mget is not Elasticsearch's ({error}): see url") from None


class Hit(msgspec.Struct):
    """A document that a search found; without `_source`, it is `HIDDEN`."""

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
    """What a search found, in how many shards, and the id of its scroll, if it is one."""

    shards: _Shards = msgspec.field(name="_shards")
    scroll: str = msgspec.field(name="_scroll_id", default="")
    hits: _Hits = _Hits()


_decode_page = msgspec.json.Decoder(Page).decode


def searched(requests: Requests, path: str, query: dict[str, Any], timeout: float = 0.0) -> Page:
    """Return what a search finds in all shards.

    Raises:
        DeliveryError: the server does not answer it, or not for every shard.
    """
    answer = requests.ask("POST", path, encode(query), timeout=timeout)
    try:
        page = _decode_page(answer.body)
    except msgspec.DecodeError as error:
        raise Retryable(
            f"the answer to _search is not Elasticsearch's ({error}): see url"
        ) from None
    if page.shards.successful < page.shards.total:
        raise Retryable(
            f"only {page.shards.successful} of {page.shards.total} shards could be searched: see "
            "the cluster's health"
        )
    return page
