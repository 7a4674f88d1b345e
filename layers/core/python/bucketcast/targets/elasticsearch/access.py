"""The format `access`: a new document for each event, in their order."""

from collections.abc import Sequence

from bucketcast.errors import DeliveryError, Rejected
from bucketcast.event import Event
from bucketcast.shapes import Shape
from bucketcast.targets.base import Failures
from bucketcast.targets.elasticsearch import outcome
from bucketcast.targets.elasticsearch.bulk import append, sent
from bucketcast.targets.elasticsearch.cluster import Talk


def deliver(talk: Talk, index: str, events: Sequence[Event], shape: Shape) -> Failures:
    """Append the events; those whose document was not confirmed fail."""
    failures: dict[int, DeliveryError] = {}
    writes: list[bytes] = []
    places: list[int] = []
    for place, event in enumerate(events):
        try:
            writes.append(append(index, shape.value(event)))
        except UnicodeEncodeError as error:
            failures[place] = Rejected(f"its text is not Unicode: {error}")
        else:
            places.append(place)
    unconfirmed = iter(places)
    try:
        for item in sent(talk, writes):
            place = next(unconfirmed)
            if item.error:
                failures[place] = outcome.of_document(item.status, item.error)
    except DeliveryError as error:
        failures.update(dict.fromkeys(unconfirmed, error))
    return failures
