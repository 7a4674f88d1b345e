"""Text for display, on a terminal, in logs and in reports.

Keys and error messages may contain anything: control characters move a terminal's cursor or set its
title, line ends forge rows, and some characters reverse the text around them. URLs may contain
credentials.
"""

import re
from typing import Final
from urllib.parse import urlsplit

_TOKEN: Final = re.compile(r"(?=[^/]*[0-9])(?=[^/]*[A-Za-z])[A-Za-z0-9_~.-]{16,}")
"""A part of a path that looks random; for some services it is the only credential."""

_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_STEP: Final = 1_024


def printable(text: str, *, keep: str = "") -> str:
    r"""Return the text with unprintable characters escaped as `\x1b`, except those in `keep`."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign in keep else sign.encode("unicode_escape").decode()
        for sign in text
    )


def size(number: int) -> str:
    """Format a number of bytes: 1536 is `1.5 KiB`."""
    if number == 1:
        return "1 byte"
    amount, unit = float(number), 0
    while amount >= _STEP and unit < len(_UNITS) - 1:
        amount, unit = amount / _STEP, unit + 1
    return f"{amount:,.1f} {_UNITS[unit]}" if unit else f"{number} {_UNITS[0]}"


def redacted_url(url: str) -> str:
    """Return the URL without login, query and fragment, and with `***` for tokens in its path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "***"
    host = parts.netloc.rpartition("@")[2]
    path = "/".join("***" if _TOKEN.fullmatch(part) else part for part in parts.path.split("/"))
    return f"{parts.scheme}://{host}{path}" if parts.scheme else f"{host}{path}"
