"""The broker's confirms for the messages of one batch."""

from itertools import takewhile

from bucketcast.targets.amqp.answers import ANSWERS
from bucketcast.targets.base.batch_result import BatchResult


class Confirms(BatchResult):
    """Settles messages by their delivery tags, which count up.

    The broker returns an unroutable message by its id, and then confirms it all the same.
    """

    def __init__(self, where: str, count: int) -> None:
        super().__init__(count)
        self._where = where
        self._waiting: dict[int, int] = {}
        self._indexes: dict[str, list[int]] = {}

    def __len__(self) -> int:
        """Return the number of sent messages that are not settled."""
        return len(self._waiting)

    def add(self, tag: int, index: int, message_id: str) -> None:
        """Wait for the confirm of a message that is being sent."""
        self._waiting[tag] = index
        self._indexes.setdefault(message_id, []).append(index)

    def ignore_pending(self) -> None:
        """Stop waiting for confirms."""
        self._waiting.clear()
        self._indexes.clear()

    def fail_returned(self, message_id: str, code: int, reply: str) -> None:
        """Fail a returned message; the id may also be that of an earlier batch's message."""
        reason = ANSWERS.error(self._where, reply, [str(code)])
        self.fail(self._indexes.get(message_id, ()), reason)

    def settle_tag(self, tag: int, *, confirmed: bool, multiple: bool) -> None:
        """Settle a message as confirmed or refused; with `multiple`, all before it too."""
        for settled_tag in self._tags_up_to(tag) if multiple else [tag]:
            index = self._waiting.pop(settled_tag, None)
            if index is None:
                continue
            if confirmed:
                self.unconfirmed.discard(index)
            else:
                self.settle(index, ANSWERS.error(self._where, "the broker refused it", ["nack"]))

    def _tags_up_to(self, last: int) -> list[int]:
        return list(takewhile(lambda tag: tag <= last, self._waiting))
