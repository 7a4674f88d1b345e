"""Parse a listen call, with MinIO's checks in MinIO's order, codes and messages."""

import re
from typing import Final

from bucketcast.event import names
from bucketcast.listen.listener import ListenFilter
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest

QUERY: Final = "events"
_TWICE: Final = "Cannot specify more than one {} rule in a filter."
_VALUE: Final = "Size of filter rule value cannot exceed 1024 bytes in UTF-8 representation"
_EVENT: Final = "A specified event is not supported for notifications."
_PING: Final = "ping is the number of seconds between two lines: a whole number from 1 on"
_MAX_BYTES: Final = 1_024
_EVENTS: Final = (
    names.SINGLES | names.FAMILIES.keys() | {names.BUCKET_CREATED, names.BUCKET_REMOVED}
)
_SECONDS: Final = re.compile(r"[0-9]{1,9}")
MAX_PING: Final = 3_600


def is_listening(call: RawRequest) -> bool:
    """Return whether it is a listen call, by the query alone as in MinIO."""
    return QUERY in call.params and call.method == "GET" and not call.key


def read(call: RawRequest, user: str) -> ListenFilter:
    """Return what a user wants to hear; a call without a bucket is about all.

    Raises:
        S3Error: its first error, in MinIO's words.
    """
    prefix, suffix = _end(call, "prefix"), _end(call, "suffix")
    events = tuple(call.params[QUERY])
    if not all(name in _EVENTS for name in events):
        raise S3Error("InvalidArgument", _EVENT)
    return ListenFilter(user, call.bucket, events, prefix, suffix)


def ping(call: RawRequest) -> int:
    """Return the seconds after which a keep-alive line is due; 0 if none is requested.

    Raises:
        S3Error: it is no valid number.
    """
    text = call.first("ping")
    if not text:
        return 0
    if not (_SECONDS.fullmatch(text) and 1 <= int(text) <= MAX_PING):
        raise S3Error("AuthorizationQueryParametersError", _PING)
    return int(text)


def _end(call: RawRequest, name: str) -> str:
    values = call.params.get(name, [""])
    if len(values) > 1:
        raise S3Error("InvalidArgument", _TWICE.format(name))
    (value,) = values
    if "\\" in value or "\ufffd" in value or any(part in (".", "..") for part in value.split("/")):
        raise S3Error("InvalidArgument", _VALUE)
    if len(value.encode("utf-8", "surrogatepass")) > _MAX_BYTES:
        raise S3Error("InvalidArgument", _VALUE)
    return value
