"""The format `access`: each event is appended to a list."""

from collections.abc import Callable, Iterator, Sequence

from bucketcast.errors import Rejected
from bucketcast.event import Event
from bucketcast.targets.base.batch_result import BatchResult
from bucketcast.targets.redis.client import EVENTS_PER_CALL, Command, check_size


def calls(
    key: str, events: Sequence[Event], body: Callable[[Event], bytes], result: BatchResult
) -> Iterator[tuple[list[int], Command]]:
    """Yield the commands that append the events, each with the indexes of its events."""
    for start in range(0, len(events), EVENTS_PER_CALL):
        items: list[bytes] = []
        indexes: list[int] = []
        for index, event in enumerate(events[start : start + EVENTS_PER_CALL], start):
            try:
                items.append(check_size(body(event)))
            except (UnicodeError, Rejected) as error:
                result.settle(index, Rejected.anywhere(str(error)))
            else:
                indexes.append(index)
        if items:
            yield indexes, ("RPUSH", key, *items)
