"""The result of a batch that the server confirms in parts."""

from collections.abc import Iterable

from bucketcast.errors import DeliveryError


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
