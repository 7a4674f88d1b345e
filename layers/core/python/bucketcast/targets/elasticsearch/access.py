"""The format `access`: a new document for each event, in their order."""

from collections.abc import Sequence

from bucketcast.errors import DeliveryError
from bucketcast.event import Event
from bucketcast.shapes import Shape
from bucketcast.targets.base import Failures
from bucketcast.targets.base.outcomes import Outcomes
from bucketcast.targets.elasticsearch import errors
from bucketcast.targets.elasticsearch.api import append, sent
from bucketcast.targets.elasticsearch.client import Requests


def deliver(requests: Requests, index: str, events: Sequence[Event], shape: Shape) -> Failures:
    """Append the events; those whose document was not confirmed fail."""
    outcomes = Outcomes(len(events))
    indexes: list[int] = []
    writes: list[bytes] = []
    for place, _, document in outcomes.encoded(events, shape.value):
        indexes.append(place)
        writes.append(append(index, document))
    try:
        for place, item in zip(indexes, sent(requests, writes), strict=True):
            if item.error:
                outcomes.settle(place, errors.of_document(item.status, item.error))
            else:
                outcomes.unconfirmed.discard(place)
    except DeliveryError as error:
        outcomes.fail(outcomes.unconfirmed, error)
    return outcomes.failures
