"""The number of calls to AWS per event, by the events that ingest gets at once."""

import math
from typing import Final

from bucketcast.limits import BATCH_MESSAGES, INGEST_WINDOW_MESSAGES

MESSAGES_A_CALL: Final = 10
"""Messages that one call of SQS receives or deletes at most."""
POLLERS: Final = 5
"""Pollers that Lambda has for a queue, also for an idle one."""
POLL_SECONDS: Final = 20
"""The seconds that a poll of an empty queue waits."""
BATCH_SECONDS: Final = 0.1
"""The seconds that a poller is busy with a batch; an assumption, not measured on AWS."""
UNIT_BYTES: Final = 65_536
COMPRESSION: Final = 10
"""The factor by which our messages compress events."""


def at_once(rate: float, window: float) -> float:
    """Return the messages that a function gets at once, at so many a second.

    `window` is the seconds for which they are gathered. Without one messages do not wait: a batch
    has several only if all pollers are busy.
    """
    most = INGEST_WINDOW_MESSAGES if window else BATCH_MESSAGES
    return max(1.0, min(rate * (window or BATCH_SECONDS / POLLERS), most))


def received_together(messages: float) -> float:
    """Return the messages of one receive call, if a function gets so many at once."""
    return max(1.0, min(messages, MESSAGES_A_CALL))


def billed(size: float) -> int:
    """Return the requests that a call with so many bytes is billed as."""
    return max(1, math.ceil(size / UNIT_BYTES))


def empty_receives(days: float) -> float:
    """Return the calls that poll an idle queue."""
    return POLLERS * days * 86_400 / POLL_SECONDS
