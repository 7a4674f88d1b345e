"""Addresses for people: without what lets whoever reads them in."""

import re
from typing import Final
from urllib.parse import urlsplit

_TOKEN: Final = re.compile(r"(?=[^/]*[0-9])(?=[^/]*[A-Za-z])[A-Za-z0-9_~.-]{16,}")
"""A part of a path that nobody made up by hand; of some services it is all the login there is."""


def shown(url: str) -> str:
    """A URL without login, query and fragment, and with `***` for what looks like a token."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "***"
    host = parts.netloc.rpartition("@")[2]
    path = "/".join("***" if _TOKEN.fullmatch(part) else part for part in parts.path.split("/"))
    return f"{parts.scheme}://{host}{path}" if parts.scheme else f"{host}{path}"
