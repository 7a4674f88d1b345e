"""Loops: a target's consumer writes into its source bucket, and each write is a new event.

There are two signs: a target's URL is an address in Amazon S3, or keys repeat the same part, as in
`thumbs/thumbs/thumbs/cat.jpg`, because a consumer writes its results under a prefix that its rule
matches.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final
from urllib.parse import unquote, urlsplit

from bucketcast.destination import ListenerArn
from bucketcast.event import Event
from bucketcast.event.names import creates
from bucketcast.rules import Hit

SAMPLE_SIZE: Final = 100
"""The most events of a batch to check, spread evenly; a loop also shows in later batches."""
_HOST: Final = re.compile(
    r"(?:(?P<bucket>[a-z0-9][a-z0-9.-]*)\.)??"
    r"s3(?:[.-](?:accelerate|dualstack|fips|website|[a-z]{2,4}(?:-[a-z]+)+-[0-9]))*"
    r"\.amazonaws\.(?:com(?:\.cn)?|eu)",
    re.IGNORECASE,
)
_SEPARATORS: Final = str.maketrans("._-", "///")
_REPEATED: Final = re.compile(r"(?<![^/])((?:[^/]*[^/\W\d][^/]*/)(?:[^/]+/){0,2})\1\1")


def bucket_in(url: str) -> str:
    """Return the Amazon S3 bucket in a URL; "" if there is none."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return ""
    address = _HOST.fullmatch(host)
    if not address:
        return ""
    return (address["bucket"] or unquote(parts.path).lstrip("/").partition("/")[0]).lower()


def warnings(key: str, url: str) -> Iterator[str]:
    """Yield a warning if the option `key` is a URL in Amazon S3."""
    if bucket := bucket_in(url):
        yield (
            f"{key}: writes into the bucket {bucket}; if this target gets the bucket's events, "
            "each write causes the next, an endless and costly loop"
        )


def repeats_itself(key: str) -> bool:
    """Return True if a key repeats one to three parts, with letters, three times in a row."""
    return _REPEATED.search(f"{key.translate(_SEPARATORS)}/") is not None


def suspected_buckets(matches: Sequence[tuple[Event, Collection[Hit]]]) -> list[str]:
    """Return the buckets that seem to be in a loop, from events and their matches.

    A listener starts nothing, so that its matches do not count.
    """
    step = max(1, len(matches) // SAMPLE_SIZE)
    buckets = {
        event.bucket
        for event, hits in matches[::step]
        if any(not isinstance(hit.to, ListenerArn) for hit in hits)
        and creates(event.name)
        and repeats_itself(event.key)
    }
    return sorted(buckets)
