"""Checkpoints: the events that SQS accepted, as the names of empty objects.

::

    done/3/17-2000          part 3, chunk 17: all of its 2,000 events
    done/3/18-1600-4-9      chunk 18: 1,600 events; its messages 4 and 9 were refused

So one listing shows a task the progress of its part, and a reader that of the job.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from glue_jobs import files


class Checkpoint(NamedTuple):
    """The number of a chunk's events that SQS accepted, and the indexes of `refused` messages."""

    events: int
    refused: frozenset[int]


def write(folder: str, part: int, chunk: int, checkpoint: Checkpoint) -> None:
    """Write a checkpoint."""
    name = "-".join(map(str, (chunk, checkpoint.events, *sorted(checkpoint.refused))))
    files.write(f"{folder}/done/{part}/{name}", b"")


def read_part(folder: str, part: int) -> dict[int, Checkpoint]:
    """Return the checkpoints of a part, by chunk."""
    return _parse(files.list_files(f"{folder}/done/{part}"))


def count_events(folder: str) -> int:
    """Return the number of events that SQS accepted; it holds the names of one part at a time."""
    names = (name.split("/") for name in files.list_files(f"{folder}/done"))
    parts = (_parse(name for _, name in part) for _, part in groupby(names, lambda name: name[0]))
    return sum(checkpoint.events for part in parts for checkpoint in part.values())


def _parse(names: Iterable[str]) -> dict[int, Checkpoint]:
    """Return the checkpoint of each chunk; of two attempts, the one with more accepted."""
    checkpoints: dict[int, Checkpoint] = {}
    for name in names:
        chunk, events, *refused = map(int, name.split("-"))
        checkpoint = Checkpoint(events, frozenset(refused))
        if chunk not in checkpoints or len(refused) < len(checkpoints[chunk].refused):
            checkpoints[chunk] = checkpoint
    return checkpoints
