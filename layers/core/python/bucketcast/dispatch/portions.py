"""The messages of a batch, opened a portion at a time.

Lambda hands over up to 6 MB of messages, whose events take a hundred times that in memory: they
compress tenfold, and each is an object with a score of fields.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from bucketcast.dispatch.messages import Open, Waiting

MOST_EVENTS: Final = 5_000
MOST_BYTES: Final = 16_777_216
"""A portion ends with the message that makes it so large; the bytes are those of its records."""


def portions(
    going: Iterable[Waiting], opened: Callable[[Waiting], Open | None]
) -> Iterator[list[Open]]:
    """Lists of open messages, each made when it is asked for; `opened` gives None for no envelope.

    Whoever has done with a list clears it, or two of them are in memory.
    """
    portion: list[Open] = []
    events = size = 0
    for each in going:
        one = opened(each)
        if one is None:
            continue
        portion.append(one)
        events += len(one.deliveries)
        size += sum(memoryview(held.event.record).nbytes for held in one.deliveries)
        del one
        if events >= MOST_EVENTS or size >= MOST_BYTES:
            yield portion
            portion, events, size = [], 0, 0
    if portion:
        yield portion
