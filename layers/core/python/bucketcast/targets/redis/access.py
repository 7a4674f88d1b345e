"""The format `access`: an item for each event, at the end of a list."""

from collections.abc import Callable, Iterator, Sequence

from bucketcast.errors import Rejected
from bucketcast.event import Event
from bucketcast.targets.base.batch_result import BatchResult
from bucketcast.targets.redis.batch import EVENTS_A_CALL, fitting
from bucketcast.targets.redis.client import Command


def calls(
    key: str, events: Sequence[Event], body: Callable[[Event], bytes], result: BatchResult
) -> Iterator[tuple[list[int], Command]]:
    """Yield the calls that append the events, each with the indexes of those in it."""
    for start in range(0, len(events), EVENTS_A_CALL):
        items: list[bytes] = []
        indexes: list[int] = []
        for index, event in enumerate(events[start : start + EVENTS_A_CALL], start):
            try:
                items.append(fitting(body(event)))
            except (UnicodeError, Rejected) as error:
                result.settle(index, Rejected(str(error)))
            else:
                indexes.append(index)
        if items:
            yield indexes, ("RPUSH", key, *items)
