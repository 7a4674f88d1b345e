"""Loops: what is told of an event writes into the bucket that it came from, for ever and for money.

Two signs are known. A target's URL is an address in Amazon S3 itself. Or keys grow by the same
piece again and again, `thumbs/thumbs/thumbs/cat.jpg`, as they do where whoever is told writes what
it makes under a prefix that its rule asks for too.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final
from urllib.parse import unquote, urlsplit

from bucketcast.event import Event
from bucketcast.names import creates

LOOKED_AT: Final = 100
"""So many events of a batch are looked at, at the most, spread over it: a loop comes again."""
_HOST: Final = re.compile(
    r"(?:(?P<bucket>[a-z0-9][a-z0-9.-]*)\.)??"
    r"s3(?:[.-](?:accelerate|dualstack|fips|website|[a-z]{2}(?:-[a-z]+)+-[0-9]))*"
    r"\.amazonaws\.com(?:\.cn)?",
    re.IGNORECASE,
)
_ALIKE: Final = str.maketrans("._-", "///")
_THRICE: Final = re.compile(r"(?<![^/])((?:[^/]*[^/\W\d][^/]*/)(?:[^/]+/){0,2})\1\1")


def bucket_in(url: str) -> str:
    """The bucket of Amazon S3 that a URL is an address in; "" where it is none."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return ""
    found = _HOST.fullmatch(host)
    if not found:
        return ""
    return (found["bucket"] or unquote(parts.path).lstrip("/").partition("/")[0]).lower()


def note(key: str, url: str) -> Iterator[str]:
    """What to say of an option that is a URL in Amazon S3."""
    if bucket := bucket_in(url):
        yield (
            f"{key}: writes into the bucket {bucket}; where its own events are sent there, each "
            "makes the next, without an end and for money"
        )


def grows(key: str) -> bool:
    """Whether a key has the same one to three parts three times in a row, letters among them."""
    return _THRICE.search(f"{key.translate(_ALIKE)}/") is not None


def suspected(asked: Sequence[tuple[Event, Collection[object]]]) -> list[str]:
    """The buckets in which a loop seems to be, of events and whom the rules sent them to."""
    step = max(1, len(asked) // LOOKED_AT)
    buckets = {
        event.bucket
        for event, hits in asked[::step]
        if hits and creates(event.name) and grows(event.key)
    }
    return sorted(buckets)
