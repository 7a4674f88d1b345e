"""The messages of a batch, and what became of them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bucketcast.errors import DeliveryError, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.shapes import Shape

USUAL_PAYLOAD = 1_048_576
"""Bytes that a NATS server takes unless told otherwise; an event of S3 has some thousand."""


class Message(NamedTuple):
    """`place` is the event's in its batch, `id` is the same for every delivery of it."""

    place: int
    id: str
    body: bytes


class Batch:
    """Events on their way; of the `unconfirmed` places the server has not said what became."""

    def __init__(self, events: Sequence[Event], shape: Shape) -> None:
        self._events = events
        self._shape = shape
        self.failures: dict[int, DeliveryError] = {}
        self.unconfirmed = set(range(len(events)))

    def settle(self, place: int, failure: DeliveryError | None = None) -> None:
        """Note that this event arrived, or why it did not."""
        self.unconfirmed.discard(place)
        if failure is not None:
            self.failures[place] = failure

    def messages(self, beside: int, limit: int) -> Iterator[Message]:
        """What the server takes, made while it works; `beside` each body so many bytes are sent."""
        make = self._shape.message
        for place, event in enumerate(self._events):
            try:
                body = make(event)
            except UnicodeEncodeError as error:
                self.settle(place, Rejected(f"its text is not Unicode: {error}"))
                continue
            size = len(body) + beside
            if size > limit:
                self.settle(place, too_large(size, limit, "max_payload of the server"))
            else:
                yield Message(place, event.id, body)


def too_large(size: int, limit: int, what: str) -> DeliveryError:
    """Of an event that any usual server would take, the server's limit is what is wrong."""
    found = f"the message takes {size} bytes, and {limit} are allowed by {what}"
    if size > USUAL_PAYLOAD:
        return Rejected(found)
    return Retryable(f"{found}: raise it, to {USUAL_PAYLOAD} as is usual")
