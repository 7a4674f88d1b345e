"""Checkpoints of what SQS accepted: empty objects whose names hold the data.

::

    done/3/17-2000          part 3, chunk 17: all of its 2,000 events
    done/3/18-1600-4-9      chunk 18: 1,600 events; its messages 4 and 9 were refused

So one listing shows a task the progress of its part, and everybody that of the job.
"""

from collections.abc import Iterable
from typing import NamedTuple

from glue_jobs import files


class Checkpoint(NamedTuple):
    """How many events of a chunk SQS accepted, and the indexes of the messages it refused."""

    events: int
    left: frozenset[int]


def write(folder: str, part: int, chunk: int, checkpoint: Checkpoint) -> None:
    """Write a checkpoint."""
    name = "-".join(map(str, (chunk, checkpoint.events, *sorted(checkpoint.left))))
    files.write(f"{folder}/done/{part}/{name}", b"")


def of_part(folder: str, part: int) -> dict[int, Checkpoint]:
    """Return the checkpoints of a part, by chunk."""
    return _read(files.names(f"{folder}/done/{part}"))


def events(folder: str) -> int:
    """Return how many events SQS accepted."""
    parts: dict[str, list[str]] = {}
    for name in files.names(f"{folder}/done"):
        part, _, checkpoint = name.partition("/")
        parts.setdefault(part, []).append(checkpoint)
    return sum(each.events for names in parts.values() for each in _read(names).values())


def _read(names: Iterable[str]) -> dict[int, Checkpoint]:
    """Return the checkpoint of each chunk; of two attempts, the one with more accepted."""
    found: dict[int, Checkpoint] = {}
    for name in names:
        chunk, count, *left = map(int, name.split("-"))
        checkpoint = Checkpoint(count, frozenset(left))
        if chunk not in found or len(checkpoint.left) < len(found[chunk].left):
            found[chunk] = checkpoint
    return found
