r"""Rules as text: one grammar for the command line's options and output, and for listings.

::

    ON OP VALUE         key~=photos/\d+/.*      tag:class=public        metadata:team^=red-
                        size=1KiB-10MB          source_ip=10.0.0.0/8    content_type^=image/

`=` is equal, `^=` begins with, `$=` ends with, `~=` matches as a whole. A size is in a range, an
address is equal or in a network. A text has one value; texts that differ only in the value are
alternatives.
"""

import re
from collections.abc import Iterable
from typing import Final

from bucketcast.rules.conditions import METADATA, TAG, Condition, How, check
from bucketcast.settings.types import matching

_HOWS: dict[str, How] = {"=": "equals", "^=": "prefix", "$=": "suffix", "~=": "regex"}
_OPERATORS = {how: operator for operator, how in _HOWS.items()}
_EXACT = ("size", "source_ip")
_FORM = re.compile(r"(.*?)(\^=|\$=|~=|=)(.*)", re.DOTALL)
_META = "x-amz-meta-"
_SERVICE = ".amazonaws.com"
"""Ends a `source_ip` of S3's own operations, which is a service's name."""

LONGEST_KEY: Final = 1_024
"""The bytes that a key of S3 may have."""
bucket_name = matching(
    r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}",
    "invalid bucket name '{}'; allowed are 2 to 255 of A-Z, a-z, 0-9, '.', '_', '-', without "
    "s3:// or a key",
)
rule_name = matching(
    r"[A-Za-z0-9._-]{1,255}",
    "invalid name '{}'; allowed are 1 to 255 of A-Z, a-z, 0-9, '.', '_', '-'",
)


def key_part(text: str) -> str:
    """Return a key prefix or suffix, checked as MinIO checks it.

    Raises:
        ValueError: it is none.
    """
    if (size := len(text.encode())) > LONGEST_KEY:
        raise ValueError(f"found {size} bytes; allowed are {LONGEST_KEY} at most")
    if "\\" in text:
        raise ValueError(f"found a backslash in '{text}'; the separator is /")
    if {".", ".."} & set(text.split("/")):
        raise ValueError(f"found '.' or '..' between slashes in '{text}'; not allowed")
    return text


def parse(text: str, *, unless: bool = False) -> Condition:
    """Parse a condition.

    Raises:
        ValueError: the text is not a condition, or an invalid one; the error names what is allowed.
    """
    parts = _FORM.fullmatch(text)
    if not parts:
        raise ValueError(
            f"'{text}' is not a condition: ON=VALUE, or with ^= $= ~=, as tag:class=open"
        )
    on, operator, value = _subject(parts[1].strip()), parts[2], parts[3]
    if not value:
        raise ValueError(f"'{text}' has no value: allowed is ON{operator}VALUE")
    if on in _EXACT and operator != "=":
        raise ValueError(f"'{text}': {on} does not support {operator}; allowed is {on}=VALUE")
    condition = Condition(on, (value,), _how(on, operator, value), unless)
    check(condition)
    return condition


def texts(condition: Condition) -> list[str]:
    """Return the texts of a condition, one per value; `unless` is not included."""
    operator = _OPERATORS.get(condition.how, "=")
    on = condition.on.replace(METADATA + _META, METADATA, 1)
    return [f"{on}{operator}{value}" for value in condition.values]


def merge(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return the conditions with values of the same subject and operator merged."""
    merged: dict[tuple[str, How, bool], set[str]] = {}
    for condition in conditions:
        merged.setdefault((condition.on, condition.how, condition.unless), set()).update(
            condition.values
        )
    return tuple(
        Condition(on, tuple(sorted(values)), how, unless)
        for (on, how, unless), values in sorted(merged.items())
    )


def metadata_name(text: str) -> str:
    """Return the full name of user metadata in lower case; `x-amz-meta-` may be left out."""
    return _META + text.lower().removeprefix(_META)


def _subject(text: str) -> str:
    """Return the subject's name in conditions; a dash may replace the underscore."""
    if text.startswith(METADATA) and text != METADATA:
        return METADATA + metadata_name(text.removeprefix(METADATA))
    return text if text.startswith(TAG) else text.replace("-", "_")


def _how(on: str, operator: str, value: str) -> How:
    if on == "size":
        return "range"
    if on == "source_ip" and not value.endswith(_SERVICE):
        return "cidr"
    return _HOWS[operator]
