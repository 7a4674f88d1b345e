"""The limits of targets' queues, by SQS's approximate counts of messages."""

import time
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Final

from bucketcast.delivery.queue import SQS_ERRORS, depth
from bucketcast.telemetry import logger

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_FRESH_SECONDS: Final = 1.0
_UNKNOWN_SECONDS: Final = 60.0


class QueueLimits:
    """The limits of targets' queues; `limit` returns a target's, None for none.

    Each limited queue is counted at most once a second, the others never. While SQS does not
    answer, no queue is full, and it is asked once a minute.
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
        until, messages = self._counts.get(url, (-inf, 0))
        if time.monotonic() >= until:
            messages, seconds = self._count(arn, url)
            self._counts[url] = time.monotonic() + seconds, messages
        return messages >= limit

    def _count(self, arn: str, url: str) -> tuple[int, float]:
        """Return the messages that wait, are delayed or in flight, and for how long that counts."""
        try:
            return depth(url, self._client).all, _FRESH_SECONDS
        except SQS_ERRORS as error:
            logger.warning("what waits is unknown: all is kept", target=arn, reason=str(error))
            return 0, _UNKNOWN_SECONDS
