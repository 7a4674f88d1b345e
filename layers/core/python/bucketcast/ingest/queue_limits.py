"""The limits of targets' queues, by SQS's approximate counts of messages."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from bucketcast.delivery.queue import SQS_ERRORS, depth
from bucketcast.telemetry import logger

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_FRESH_SECONDS: Final = 1.0


class QueueLimits:
    """The limits of targets' queues; `limit` returns a target's, None for none.

    Each limited queue is counted at most once a second, the others never. While SQS does not
    answer, no queue is full.
    """

    def __init__(self, limit: Callable[[str], int | None], client: "SQSClient") -> None:
        self._limit = limit
        self._client = client
        self._counts: dict[str, tuple[float, int]] = {}

    def is_full(self, arn: str, url: str) -> bool:
        """Return True if a target's queue, of this URL, has as many messages as it may have."""
        limit = self._limit(arn)
        if limit is None:
            return False
        now = time.monotonic()
        counted_at, messages = self._counts.get(url, (-_FRESH_SECONDS, 0))
        if now - counted_at >= _FRESH_SECONDS:
            messages = self._messages(arn, url)
            self._counts[url] = now, messages
        return messages >= limit

    def _messages(self, arn: str, url: str) -> int:
        """Return the messages that wait, are delayed or in flight; 0 if that is unknown."""
        try:
            return depth(url, self._client).all
        except SQS_ERRORS as error:
            logger.warning("what waits is unknown: all is kept", target=arn, reason=str(error))
            return 0
