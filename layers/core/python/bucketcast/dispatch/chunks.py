"""The messages of a batch, opened in chunks.

Lambda passes up to 6 MB of messages. Their events take a hundred times that in memory: they
compress tenfold, and each is an object with a score of fields.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from bucketcast.dispatch.messages import OpenMessage, SealedMessage

MAX_EVENTS_A_CHUNK: Final = 5_000
MAX_BYTES_A_CHUNK: Final = 16_777_216
"""A chunk ends with the message that makes it so large; the bytes are those of its records."""


def chunks(
    going: Iterable[SealedMessage], opened: Callable[[SealedMessage], OpenMessage | None]
) -> Iterator[list[OpenMessage]]:
    """Yield lists of open messages, made on demand; `opened` returns None for a bad envelope.

    The caller clears a list when it is done, or two of them are in memory at once.
    """
    chunk: list[OpenMessage] = []
    events = size = 0
    for each in going:
        one = opened(each)
        if one is None:
            continue
        chunk.append(one)
        events += len(one.deliveries)
        size += sum(memoryview(delivery.event.record).nbytes for delivery in one.deliveries)
        del one
        if events >= MAX_EVENTS_A_CHUNK or size >= MAX_BYTES_A_CHUNK:
            yield chunk
            chunk, events, size = [], 0, 0
    if chunk:
        yield chunk
