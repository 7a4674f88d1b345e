"""The format `access`: a new document for each event, in their order."""

from collections.abc import Sequence

from bucketcast.errors import DeliveryError
from bucketcast.event import Event
from bucketcast.shapes import Shape
from bucketcast.shapes.minio import encode
from bucketcast.targets.base import Failures
from bucketcast.targets.base.batch_result import BatchResult
from bucketcast.targets.elasticsearch import errors
from bucketcast.targets.elasticsearch.api import send_writes, to_one_line
from bucketcast.targets.elasticsearch.client import Requests


def deliver(requests: Requests, index: str, events: Sequence[Event], shape: Shape) -> Failures:
    """Append the events; those whose document was not confirmed fail."""
    result = BatchResult(len(events))
    action = b'{"index":{"_index":%b}}' % encode(index)  # the server assigns the id
    writes = [b"%b\n%b\n" % (action, to_one_line(shape.value(event))) for event in events]
    try:
        for position, item in enumerate(send_writes(requests, writes)):
            if item.error:
                result.settle(position, errors.of_document(item.status, item.error))
            else:
                result.unconfirmed.discard(position)
    except DeliveryError as error:
        result.fail(result.unconfirmed, error)
    return result.failures
