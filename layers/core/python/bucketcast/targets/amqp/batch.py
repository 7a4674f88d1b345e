"""What the broker said of the messages of one batch."""

from itertools import takewhile

from bucketcast.errors import Retryable
from bucketcast.targets.base.batch_result import BatchResult

_UNBOUND = "no queue takes it: bind one for routing_key, or let such events go with mandatory = off"
_REFUSED = "the broker refused it: is a queue at its limit?"


class Confirms(BatchResult):
    """Settles messages by their tags, which count up.

    A message that no queue takes is returned by its id, and then confirmed all the same.
    """

    def __init__(self, where: str, count: int) -> None:
        super().__init__(count)
        self._where = where
        self._waiting: dict[int, int] = {}
        self._indexes: dict[str, list[int]] = {}

    def __len__(self) -> int:
        """Return how many messages are sent and not settled."""
        return len(self._waiting)

    def sent(self, tag: int, index: int, message_id: str) -> None:
        self._waiting[tag] = index
        self._indexes.setdefault(message_id, []).append(index)

    def forget(self) -> None:
        """Whatever the broker will say of them, they are settled."""
        self._waiting.clear()
        self._indexes.clear()

    def returned(self, message_id: str, said: str) -> None:
        """Fail a returned message: perhaps an earlier batch's, whose id this one has too."""
        reason = Retryable(f"{self._where}: {said}: {_UNBOUND}")
        self.fail(self._indexes.get(message_id, ()), reason)

    def settled(self, tag: int, *, taken: bool, and_before: bool) -> None:
        """Settle a message as confirmed or refused, with all before it if the broker says so."""
        for each in self._up_to(tag) if and_before else [tag]:
            index = self._waiting.pop(each, None)
            if index is None:
                continue
            if taken:
                self.unconfirmed.discard(index)
            else:
                self.settle(index, Retryable(f"{self._where}: {_REFUSED}"))

    def _up_to(self, tag: int) -> list[int]:
        return list(takewhile(lambda each: each <= tag, self._waiting))
