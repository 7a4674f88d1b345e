"""What became of the events of a batch, for a kind whose server confirms them in parts."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from bucketcast.errors import DeliveryError, Rejected
from bucketcast.event import Event

T = TypeVar("T")


class BatchResult:
    """By index: `failures`, and `unconfirmed` events, of which neither is known yet."""

    def __init__(self, count: int) -> None:
        self.failures: dict[int, DeliveryError] = {}
        self.unconfirmed = set(range(count))

    def confirm(self, indexes: Iterable[int]) -> None:
        """Note that these events arrived, unless they failed before."""
        self.unconfirmed.difference_update(indexes)

    def fail(self, indexes: Iterable[int], reason: DeliveryError) -> None:
        """Note why these events did not arrive."""
        failed = dict.fromkeys(indexes, reason)
        self.failures.update(failed)
        self.unconfirmed.difference_update(failed)

    def settle(self, index: int, failure: DeliveryError | None) -> None:
        """Note that one event arrived, or why it did not."""
        self.unconfirmed.discard(index)
        if failure is not None:
            self.failures[index] = failure

    def encoded(
        self, events: Iterable[Event], encode: Callable[[Event], T]
    ) -> Iterator[tuple[int, Event, T]]:
        """Yield index, event and what is sent for it; an event that is not Unicode is rejected."""
        for index, event in enumerate(events):
            try:
                made = encode(event)
            except UnicodeEncodeError as error:
                self.settle(index, Rejected(f"its text is not Unicode: {error}"))
            else:
                yield index, event, made
