"""Loops: a target's consumer writes into the bucket that its events come from, endlessly.

There are two signs. A target's URL is an address in Amazon S3 itself. Or keys repeat the same part,
`thumbs/thumbs/thumbs/cat.jpg`, as they do if a consumer writes its results under a prefix that its
rule matches.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final
from urllib.parse import unquote, urlsplit

from bucketcast.event import Event
from bucketcast.event.names import creates

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
    """Return the Amazon S3 bucket in a URL; "" if there is none."""
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
    """Yield the warning for an option that is a URL in Amazon S3."""
    if bucket := bucket_in(url):
        yield (
            f"{key}: writes into the bucket {bucket}; where its own events are sent there, each "
            "makes the next, without an end and for money"
        )


def grows(key: str) -> bool:
    """Return whether a key repeats one to three parts, with letters, three times in a row."""
    return _THRICE.search(f"{key.translate(_ALIKE)}/") is not None


def suspected(matches: Sequence[tuple[Event, Collection[object]]]) -> list[str]:
    """Return the buckets that seem to be in a loop, from events and their matches."""
    step = max(1, len(matches) // LOOKED_AT)
    buckets = {
        event.bucket
        for event, hits in matches[::step]
        if hits and creates(event.name) and grows(event.key)
    }
    return sorted(buckets)
