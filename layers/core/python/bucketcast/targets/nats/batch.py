"""The messages of a batch, and their results."""

from collections.abc import Callable, Iterator, Sequence

from bucketcast.event import Event
from bucketcast.targets.base.answers import TooLargeError
from bucketcast.targets.base.batch_result import BatchResult

Message = tuple[int, bytes, bytes]
"""The position of an event in the batch, its encoded headers, if any, and its body."""


class Batch(BatchResult):
    """The events of a batch, and their results."""

    def __init__(
        self,
        events: Sequence[Event],
        body: Callable[[Event], bytes],
        head: Callable[[Event], bytes],
    ) -> None:
        super().__init__(len(events))
        self._events = events
        self._body = body
        self._head = head

    def messages(self, limit: int, *, headers: bool, overhead: int = 0) -> Iterator[Message]:
        """Yield the messages of at most `limit` bytes with `overhead`; fail the others.

        They are encoded one by one, while the server works.
        """
        for index, event in enumerate(self._events):
            head = self._head(event) if headers else b""
            body = self._body(event)
            size = len(head) + len(body) + overhead
            if size > limit:
                self.settle(index, too_large(size, limit))
            else:
                yield index, head, body


def too_large(size: int, limit: int) -> TooLargeError:
    """Return the error of a message above the server's limit."""
    return TooLargeError(
        f"the message takes {size} bytes, and max_payload of the server is {limit}: raise it"
    )
