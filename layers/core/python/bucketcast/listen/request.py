"""Parse a listen call, with MinIO's checks in MinIO's order, codes and messages."""

import hashlib
import re
from typing import Final

from bucketcast.event import names
from bucketcast.limits import MOST_FILTER_BYTES
from bucketcast.listen.listener import ListenFilter
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest

QUERY: Final = "events"
_TWICE: Final = "Cannot specify more than one {} rule in a filter."
_VALUE: Final = "Size of filter rule value cannot exceed 1024 bytes in UTF-8 representation"
_EVENT: Final = "A specified event is not supported for notifications."
_PING: Final = "ping is the number of seconds between two lines: a whole number from 1 on"
_BUCKETS: Final = {
    name.removesuffix(":*"): name for name in (names.BUCKET_CREATED, names.BUCKET_REMOVED)
}
"""As AIStor's page spells them, and as MinIO's code does."""
_EVENTS: Final = names.SINGLES | names.FAMILIES.keys() | {*_BUCKETS.values()}
_SECONDS: Final = re.compile(r"[0-9]{1,9}")
MAX_PING: Final = 3_600


def is_listen_call(call: RawRequest) -> bool:
    """Return True if it is a listen call; as in MinIO, its query decides."""
    return QUERY in call.params and call.method == "GET" and not call.key


def read_filter(call: RawRequest, user: str) -> ListenFilter:
    """Return the filter of a call; a call without a bucket listens to all. `user` is an id.

    Raises:
        S3Error: the call is invalid; the error is the first that MinIO reports.
    """
    prefix, suffix = _read_key_part(call, "prefix"), _read_key_part(call, "suffix")
    events = tuple(_BUCKETS.get(name, name) for name in call.params[QUERY])
    if not all(name in _EVENTS for name in events):
        raise S3Error("InvalidArgument", _EVENT)
    return ListenFilter(user, call.bucket, events, prefix, suffix)


def client(call: RawRequest, peer: str) -> str:
    """Return what tells a call's client from others, as far as a call does: machine and program."""
    text = f"{peer} {call.headers.get('user-agent', '')}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_ping(call: RawRequest) -> int:
    """Return the requested seconds between keep-alive lines; 0 if none are requested.

    Raises:
        S3Error: the number is invalid.
    """
    seconds = call.first("ping")
    if not seconds:
        return 0
    if not (_SECONDS.fullmatch(seconds) and 1 <= int(seconds) <= MAX_PING):
        raise S3Error("AuthorizationQueryParametersError", _PING)
    return int(seconds)


def _read_key_part(call: RawRequest, name: str) -> str:
    values = call.params.get(name, [""])
    if len(values) > 1:
        raise S3Error("InvalidArgument", _TWICE.format(name))
    (value,) = values
    if "\\" in value or "\ufffd" in value or any(part in (".", "..") for part in value.split("/")):
        raise S3Error("InvalidArgument", _VALUE)
    if len(value.encode("utf-8", "surrogatepass")) > MOST_FILTER_BYTES:
        raise S3Error("InvalidArgument", _VALUE)
    return value
