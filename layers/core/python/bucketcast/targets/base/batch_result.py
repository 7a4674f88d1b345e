"""The result of a batch that the server confirms in parts."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from bucketcast.errors import DeliveryError, Rejected
from bucketcast.event import Event

T = TypeVar("T")


class BatchResult:
    """The `failures` by index, and the indexes of `unconfirmed` events."""

    def __init__(self, count: int) -> None:
        self.failures: dict[int, DeliveryError] = {}
        self.unconfirmed = set(range(count))

    def confirm(self, indexes: Iterable[int]) -> None:
        """Record that these events arrived, unless they failed before."""
        self.unconfirmed.difference_update(indexes)

    def fail(self, indexes: Iterable[int], reason: DeliveryError) -> None:
        """Record the reason why these events did not arrive."""
        failed = dict.fromkeys(indexes, reason)
        self.failures.update(failed)
        self.unconfirmed.difference_update(failed)

    def settle(self, index: int, failure: DeliveryError | None) -> None:
        """Record the arrival of one event, or its failure."""
        self.unconfirmed.discard(index)
        if failure is not None:
            self.failures[index] = failure

    def encode(
        self, events: Iterable[Event], encoder: Callable[[Event], T]
    ) -> Iterator[tuple[int, Event, T]]:
        """Yield index, event and encoded event; reject events that are not Unicode."""
        for index, event in enumerate(events):
            try:
                encoded = encoder(event)
            except UnicodeEncodeError as error:
                self.settle(index, Rejected.anywhere(f"its text is not Unicode: {error}"))
            else:
                yield index, event, encoded
