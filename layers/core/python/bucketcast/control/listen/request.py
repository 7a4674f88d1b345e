"""What a listen call asks, with MinIO's checks in MinIO's order, codes and words."""

import re
from dataclasses import dataclass
from typing import Final

from bucketcast import names
from bucketcast.control.call import Call
from bucketcast.control.errors import S3Error
from bucketcast.listening import Asked

QUERY: Final = "events"
_TWICE: Final = "Cannot specify more than one {} rule in a filter."
_VALUE: Final = "Size of filter rule value cannot exceed 1024 bytes in UTF-8 representation"
_EVENT: Final = "A specified event is not supported for notifications."
_PING: Final = "ping is the number of seconds between two lines: a whole number from 1 on"
_MAX_BYTES: Final = 1_024
_KNOWN: Final = names.SINGLES | names.FAMILIES.keys() | {names.BUCKET_CREATED, names.BUCKET_REMOVED}
_SECONDS: Final = re.compile(r"[0-9]{1,9}")
MAX_PING: Final = 3_600


@dataclass(frozen=True, slots=True)
class Filter:
    """What to hear: `events` as given, and how the key begins and ends."""

    events: tuple[str, ...]
    prefix: str
    suffix: str

    def of(self, user: str, bucket: str) -> Asked:
        """The same as one user asks it of one bucket, "" being all."""
        return Asked(user, bucket, self.events, self.prefix, self.suffix)


def is_listening(call: Call) -> bool:
    """Whether it is a listen call; MinIO goes by the query alone."""
    return QUERY in call.asked and call.method == "GET" and not call.key


def read(call: Call) -> Filter:
    """The filter of a call.

    Raises:
        S3Error: the first of its mistakes, as MinIO says it.
    """
    prefix, suffix = _end(call, "prefix"), _end(call, "suffix")
    events = tuple(call.asked[QUERY])
    if not all(name in _KNOWN for name in events):
        raise S3Error("InvalidArgument", _EVENT)
    return Filter(events, prefix, suffix)


def ping(call: Call) -> int:
    """After how many seconds a line is to come when nothing happens; 0 where none is asked for.

    Raises:
        S3Error: it is no such number.
    """
    text = call.first("ping")
    if not text:
        return 0
    if not (_SECONDS.fullmatch(text) and 1 <= int(text) <= MAX_PING):
        raise S3Error("AuthorizationQueryParametersError", _PING)
    return int(text)


def _end(call: Call, name: str) -> str:
    values = call.asked.get(name, [""])
    if len(values) > 1:
        raise S3Error("InvalidArgument", _TWICE.format(name))
    (value,) = values
    if "\\" in value or "\ufffd" in value or any(part in (".", "..") for part in value.split("/")):
        raise S3Error("InvalidArgument", _VALUE)
    if len(value.encode("utf-8", "surrogatepass")) > _MAX_BYTES:
        raise S3Error("InvalidArgument", _VALUE)
    return value
