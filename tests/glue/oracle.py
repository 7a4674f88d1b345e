"""The counts that the scanner must find, computed in the plainest way from the same rows.

Every row counts, also delete markers and older versions: MinIO's scanner counts stored versions,
not listed objects.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from tests.glue.inventories import Row


class Versions(NamedTuple):
    """The number of a key's versions, and the sum of their sizes; an unknown size is 0."""

    number: int
    bytes: int


def versions(rows: Iterable[Row]) -> dict[str, Versions]:
    """Return the versions of each key."""
    counts: dict[str, Versions] = {}
    for row in rows:
        number, size = counts.get(row.key, Versions(0, 0))
        counts[row.key] = Versions(number + 1, size + (row.size or 0))
    return counts


def folders(rows: Iterable[Row]) -> dict[str, set[str]]:
    """Return the names of the sub-folders of each prefix that has any.

    Prefixes are "" or end in "/". As S3 has it with the delimiter "/": `a//b` has the folder `a`
    in "" and the folder "" in `a/`; `a/` has the folder `a` in "".
    """
    names: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        prefix = ""
        for name in row.key.split("/")[:-1]:
            names[prefix].add(name)
            prefix += f"{name}/"
    return dict(names)


class Content(NamedTuple):
    """What some rows are, in the order of `usage.Usage`; an unknown size is 0."""

    objects: int = 0
    noncurrent: int = 0
    delete_markers: int = 0
    bytes: int = 0
    noncurrent_bytes: int = 0


def content(rows: Iterable[Row]) -> Content:
    """Return what these rows are together."""
    objects = noncurrent = markers = size = old = 0
    for row in rows:
        if row.is_delete_marker:
            markers += 1
            continue
        size += row.size or 0
        if row.is_latest:
            objects += 1
        else:
            noncurrent += 1
            old += row.size or 0
    return Content(objects, noncurrent, markers, size, old)


def prefixes(rows: Iterable[Row], depth: int) -> dict[str, Content]:
    """Return the content of each prefix that ends with one of the first `depth` slashes of a key.

    Of prefixes with the same rows only the longest is there.
    """
    below: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        prefix = ""
        for name in row.key.split("/")[:-1][:depth]:
            prefix += f"{name}/"
            below[prefix].append(row)
    return {
        prefix: content(found)
        for prefix, found in below.items()
        if not any(
            len(found) == len(others) and other != prefix and other.startswith(prefix)
            for other, others in below.items()
        )
    }
