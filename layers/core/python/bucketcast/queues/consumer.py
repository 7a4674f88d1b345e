"""A queue that a function reads, and the dead-letter queue beside it."""

from collections.abc import Mapping, Sequence

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.queues import Outgoing, Queue
from bucketcast.queues.heartbeat import Heartbeat
from bucketcast.telemetry import logger


class ConsumerQueue:
    """What its function does with messages that it could not process.

    If SQS does not answer, nothing changes: the message becomes visible again.
    """

    def __init__(self, own: Queue, dead: Queue) -> None:
        self._own = own
        self._dead = dead

    def heartbeat(self, seconds: Mapping[str, int]) -> Heartbeat:
        return Heartbeat(self._own, seconds)

    def postpone(self, pauses: dict[str, int]) -> None:
        try:
            self._own.postpone(pauses)
        except (BotoCoreError, ClientError) as error:
            logger.warning("retries come at the queue's own pace", reason=str(error))

    @staticmethod
    def _try(queue: Queue, messages: Sequence[Outgoing]) -> set[int]:
        """Send messages; return the indexes of those that SQS did not take."""
        try:
            return set(queue.send(messages))
        except (BotoCoreError, ClientError) as error:
            logger.error("SQS did not take messages", queue=queue.url, reason=str(error))
            return set(range(len(messages)))
