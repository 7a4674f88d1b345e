"""Marks of what SQS took: empty objects, whose names say it all.

::

    done/3/17-2000          part 3, chunk 17: all of its 2,000 events
    done/3/18-1600-4-9      chunk 18: 1,600 events; its messages 4 and 9 were refused

So one listing tells a task what was taken of its part, and tells everybody how far the job is.
"""

from collections.abc import Iterable
from typing import NamedTuple

from glue_jobs import files


class Mark(NamedTuple):
    """How many events of a chunk SQS took, and the places of the messages that it did not take."""

    events: int
    left: frozenset[int]


def write(folder: str, part: int, chunk: int, mark: Mark) -> None:
    """Leave a mark."""
    name = "-".join(map(str, (chunk, mark.events, *sorted(mark.left))))
    files.write(f"{folder}/done/{part}/{name}", b"")


def of_part(folder: str, part: int) -> dict[int, Mark]:
    """The marks of a part's chunks."""
    return _read(files.names(f"{folder}/done/{part}"))


def events(folder: str) -> int:
    """How many events SQS took."""
    parts: dict[str, list[str]] = {}
    for name in files.names(f"{folder}/done"):
        part, _, mark = name.partition("/")
        parts.setdefault(part, []).append(mark)
    return sum(mark.events for marks in parts.values() for mark in _read(marks).values())


def _read(names: Iterable[str]) -> dict[int, Mark]:
    """The mark of each chunk; of two, from a first try and the next, the one that says more."""
    found: dict[int, Mark] = {}
    for name in names:
        chunk, count, *left = map(int, name.split("-"))
        mark = Mark(count, frozenset(left))
        if chunk not in found or len(mark.left) < len(found[chunk].left):
            found[chunk] = mark
    return found
