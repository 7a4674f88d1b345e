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
