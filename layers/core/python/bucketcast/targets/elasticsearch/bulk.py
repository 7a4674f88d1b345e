"""Many writes in few requests, and what became of each."""

from collections.abc import Iterator, Sequence

import msgspec

from bucketcast.errors import Retryable
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
    """The same JSON on one line, as a bulk needs it: what came from elsewhere may have more."""
    if b"\n" in document or b"\r" in document:
        return msgspec.json.format(document, indent=-1)
    return document


def sent(requests: Requests, writes: Sequence[bytes]) -> Iterator[Item]:
    """What became of each write, in their order; of those before one that raises all is known.

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
    """One request, halved where it is larger than whatever is between us takes."""
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
