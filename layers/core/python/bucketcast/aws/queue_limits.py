"""How many more events the queues with a limit take.

The counters know how many events wait, but for those that nobody has counted yet, and may be off
after killed functions. So nothing is discarded before SQS has confirmed that the queue can hold so
many events, and nothing if the table or SQS does not answer.
"""

import time
from collections.abc import Callable
from typing import Final, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.aws.counters import Counters
from bucketcast.delivery.envelope import MAX_EVENTS
from bucketcast.telemetry import logger

_FRESH_SECONDS: Final = 1.0


class _Waiting(NamedTuple):
    """How many events wait, when that was read, and whether SQS has confirmed it."""

    at: float
    number: int
    confirmed: bool = False


class QueueLimits:
    """The limits of targets' queues; `limit` returns a target's, `messages` what its queue has.

    What waits is read at most once a second; what this function sent since is added.
    """

    def __init__(
        self,
        limit: Callable[[str], int | None],
        messages: Callable[[str], int | None],
        counters: Counters,
    ) -> None:
        self._limit = limit
        self._messages = messages
        self._counters = counters
        self._waiting: dict[str, _Waiting] = {}

    def limits(self, arn: str) -> bool:
        """Return whether a target's queue is limited."""
        return self._limit(arn) is not None

    def room(self, arn: str, number: int) -> int:
        """Return how many of so many more events may wait for a target."""
        limit = self._limit(arn)
        if limit is None:
            return number
        now = time.monotonic()
        waiting = self._waiting.get(arn)
        if waiting is None or now - waiting.at > _FRESH_SECONDS:
            waiting = _Waiting(now, self._counted(arn))
        if waiting.number + number > limit and not waiting.confirmed:
            waiting = waiting._replace(number=self._possible(arn, waiting.number), confirmed=True)
        self._waiting[arn] = waiting
        return min(number, max(0, limit - waiting.number))

    def sent(self, arn: str, number: int) -> None:
        """Remember that a target's queue was sent so many events."""
        if waiting := self._waiting.get(arn):
            self._waiting[arn] = waiting._replace(number=waiting.number + number)

    def _counted(self, arn: str) -> int:
        try:
            hours = self._counters.hours(arn).get(arn, {})
        except (BotoCoreError, ClientError) as error:
            logger.warning("what waits is not known: all is kept", target=arn, reason=str(error))
            return 0
        return max(0, sum(each.open for each in hours.values()))

    def _possible(self, arn: str, waiting: int) -> int:
        """Return how many of these events the queue's messages can hold."""
        messages = self._messages(arn)
        return 0 if messages is None else min(waiting, messages * MAX_EVENTS)
