"""The messages of a batch, and what became of them."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from bucketcast.errors import DeliveryError, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.targets.base.batch_result import BatchResult

USUAL_PAYLOAD = 1_048_576
"""Bytes that a NATS server takes by default; an event of S3 has some thousand."""


class Message(NamedTuple):
    """`position` is the event's in its batch; `head` is what NATS writes of headers, or empty."""

    position: int
    head: bytes
    body: bytes


class Batch(BatchResult):
    """The events of a batch, and what became of them."""

    def __init__(
        self,
        events: Sequence[Event],
        body: Callable[[Event], bytes],
        headers: Callable[[Event], dict[str, str]],
    ) -> None:
        super().__init__(len(events))
        self._events = events
        self._body = body
        self._headers = headers

    def messages(self, limit: int, *, headers: bool, beside: int = 0) -> Iterator[Message]:
        """Yield what the server takes, made while it works.

        It takes `limit` bytes; `beside` a message so many are sent. Headers are ASCII.
        """
        for index, event in enumerate(self._events):
            try:
                lines = self._headers(event).items() if headers else ()
                body = self._body(event)
                head = "".join([f"{name}: {text}\r\n" for name, text in lines]).encode("ascii")
            except UnicodeEncodeError as error:
                self.settle(index, Rejected(f"its text is not Unicode: {error}"))
                continue
            if head:
                head = b"NATS/1.0\r\n%b\r\n" % head
            size = len(head) + len(body) + beside
            if size > limit:
                self.settle(index, too_large(size, limit, "max_payload of the server"))
            else:
                yield Message(index, head, body)


def too_large(size: int, limit: int, what: str) -> DeliveryError:
    """Return the error; if most servers would take the event, this one's limit is to blame."""
    found = f"the message takes {size} bytes, and {limit} are allowed by {what}"
    if size > USUAL_PAYLOAD:
        return Rejected(found)
    return Retryable(f"{found}: raise it, to {USUAL_PAYLOAD} as is usual")
