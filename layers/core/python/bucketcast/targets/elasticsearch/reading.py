"""Reading documents by their ids, which sees every confirmed write at once."""

from collections.abc import Iterable

import msgspec

from bucketcast.errors import Retryable
from bucketcast.targets.elasticsearch.client import Requests
from bucketcast.targets.elasticsearch.errors import Error

_MGET = (
    "/_mget?filter_path=docs.found,docs._seq_no,docs._primary_term,docs._source,docs.error.type,"
    "docs.error.reason"
)


class Read(msgspec.Struct, gc=False):
    """A document as `_mget` answers it."""

    found: bool = False
    seq_no: int = msgspec.field(name="_seq_no", default=-1)
    term: int = msgspec.field(name="_primary_term", default=-1)
    source: msgspec.Raw = msgspec.field(name="_source", default=msgspec.Raw(b"null"))
    error: Error | None = None


class _Answer(msgspec.Struct):
    docs: list[Read]


_decode = msgspec.json.Decoder(_Answer).decode


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
        return _decode(answer.body).docs
    except msgspec.DecodeError as error:
        raise Retryable(f"the answer to _mget is not Elasticsearch's ({error}): see url") from None
