"""The format `access`: an item for each event, at the end of a list."""

from collections.abc import Callable, Iterator, Sequence

from bucketcast.errors import DeliveryError, Rejected
from bucketcast.event import Event
from bucketcast.targets.redis.calls import EVENTS_A_CALL, Command, Fates, fitting


def calls(
    key: str, events: Sequence[Event], body: Callable[[Event], bytes], fates: Fates
) -> Iterator[tuple[list[int], Command]]:
    """The calls that append the events, each with the places of those in it."""
    for start in range(0, len(events), EVENTS_A_CALL):
        items: list[bytes] = []
        places: list[int] = []
        for place, event in enumerate(events[start : start + EVENTS_A_CALL], start):
            try:
                items.append(fitting(body(event)))
            except (UnicodeError, Rejected) as error:
                failure: DeliveryError = Rejected(str(error))
                fates.fail({place: failure})
            else:
                places.append(place)
        if items:
            yield places, ("RPUSH", key, *items)
