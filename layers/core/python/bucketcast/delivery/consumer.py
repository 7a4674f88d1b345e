"""A queue that a function empties, as the engine uses it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from bucketcast.delivery.dead_letters import Dead
from bucketcast.delivery.heartbeat import Heartbeat
from bucketcast.delivery.queue import SQS_ERRORS, Outgoing, Queue
from bucketcast.telemetry import logger


class Consumer:
    """The queue of the messages in hand; `send` and `dead_letter` return the indexes not taken.

    If SQS does not answer, nothing changes: the message becomes visible again.
    """

    def __init__(self, own: Queue, dead_letter: Callable[[Sequence[Dead]], set[int]]) -> None:
        self._own = own
        self.in_order = own.fifo
        self.dead_letter = dead_letter

    def send(self, messages: Sequence[Outgoing]) -> set[int]:
        return self._own.try_send(messages)

    def postpone(self, pauses: Mapping[str, int]) -> None:
        try:
            self._own.postpone(pauses)
        except SQS_ERRORS as error:
            logger.warning("retries come at the queue's own pace", reason=str(error))

    def count(self) -> int | None:
        """Return the messages that it holds, about; None if SQS does not answer."""
        try:
            return self._own.depth.all
        except SQS_ERRORS as error:
            logger.warning("what waits was not counted", reason=str(error))
            return None

    def heartbeat(self, seconds: Mapping[str, int], first: float) -> AbstractContextManager[None]:
        """Return a context in which no other consumer sees the messages of these receipts.

        If the function is killed after the `first` seconds, they are visible again after the given.
        """
        return Heartbeat(self._own, seconds, first)
