"""URLs for display, without credentials."""

import re
from typing import Final
from urllib.parse import urlsplit

_TOKEN: Final = re.compile(r"(?=[^/]*[0-9])(?=[^/]*[A-Za-z])[A-Za-z0-9_~.-]{16,}")
"""A part of a path that nobody made up by hand; of some services it is all the login there is."""


def redacted(url: str) -> str:
    """Return a URL without login, query and fragment, and with `***` for tokens in its path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "***"
    host = parts.netloc.rpartition("@")[2]
    path = "/".join("***" if _TOKEN.fullmatch(part) else part for part in parts.path.split("/"))
    return f"{parts.scheme}://{host}{path}" if parts.scheme else f"{host}{path}"
