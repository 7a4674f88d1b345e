"""Loops: a target's consumer writes into its source bucket, and each write is a new event.

A target shows it whose URL is an address in Amazon S3.
"""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote, urlsplit

_HOST: Final = re.compile(
    r"(?:(?P<bucket>[a-z0-9][a-z0-9.-]*)\.)??"
    r"s3(?:[.-](?:accelerate|dualstack|fips|website|[a-z]{2,4}(?:-[a-z]+)+-[0-9]))*"
    r"\.amazonaws\.(?:com(?:\.cn)?|eu)",
    re.IGNORECASE,
)


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
