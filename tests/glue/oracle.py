"""What the scanner must find, computed in the plainest way from the same rows.

Every row counts, delete markers and versions that are not the latest too: as MinIO's scanner
counts what is stored, not what a listing shows.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from tests.glue.inventories import Row


class Versions(NamedTuple):
    """How many versions a key has, and their bytes together; a size that is not known is 0."""

    number: int
    bytes: int


def versions(rows: Iterable[Row]) -> dict[str, Versions]:
    """The versions of each key."""
    found: dict[str, Versions] = {}
    for row in rows:
        number, size = found.get(row.key, Versions(0, 0))
        found[row.key] = Versions(number + 1, size + (row.size or 0))
    return found


def folders(rows: Iterable[Row]) -> dict[str, set[str]]:
    """The names of the sub-folders of each prefix that has any.

    Prefixes are "" or end in "/". As S3 has it with the delimiter "/": `a//b` has the folder `a`
    in "" and the folder "" in `a/`; `a/` has the folder `a` in "".
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        prefix = ""
        for name in row.key.split("/")[:-1]:
            found[prefix].add(name)
            prefix += f"{name}/"
    return dict(found)
