"""The format `access`: a new document for each event, in their order."""

from collections.abc import Sequence

from bucketcast.errors import DeliveryError, Rejected
from bucketcast.event import Event
from bucketcast.shapes import Shape
from bucketcast.targets.base import Failures
from bucketcast.targets.elasticsearch import errors
from bucketcast.targets.elasticsearch.bulk import append, sent
from bucketcast.targets.elasticsearch.client import Requests


def deliver(requests: Requests, index: str, events: Sequence[Event], shape: Shape) -> Failures:
    """Append the events; those whose document was not confirmed fail."""
    failures: dict[int, DeliveryError] = {}
    writes: list[bytes] = []
    indexes: list[int] = []
    for index_, event in enumerate(events):
        try:
            writes.append(append(index, shape.value(event)))
        except UnicodeEncodeError as error:
            failures[index_] = Rejected(f"its text is not Unicode: {error}")
        else:
            indexes.append(index_)
    unconfirmed = iter(indexes)
    try:
        for item in sent(requests, writes):
            index_ = next(unconfirmed)
            if item.error:
                failures[index_] = errors.of_document(item.status, item.error)
    except DeliveryError as error:
        failures.update(dict.fromkeys(unconfirmed, error))
    return failures
