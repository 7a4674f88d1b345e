"""The number of calls to AWS per event, by what Lambda's pollers of a queue do."""

import math
from typing import Final

from bucketcast.limits import BATCH_MESSAGES, INGEST_WINDOW_MESSAGES, SQS_CALL_MESSAGES

POLLERS: Final = 5
"""Pollers that Lambda has for a queue, also for an idle one."""
POLL_SECONDS: Final = 20
"""The seconds that a poll of an empty queue waits."""
RECEIVE_SECONDS: Final = 0.01
"""The seconds that a poll takes which finds messages; an assumption, not measured on AWS."""
BATCH_SECONDS: Final = 0.08
"""The seconds that a poller is busy with a batch of a target; another one."""
FULL: Final = 0.7
"""The part of `BATCH_MESSAGES` that a batch has where there are as many pollers as are needed."""
UNIT_BYTES: Final = 65_536
COMPRESSION: Final = 10
"""The factor by which our messages compress events."""


def at_once(rate: float, window: float, seconds: float = BATCH_SECONDS) -> float:
    """Return the messages that a function gets at once, at so many a second.

    Each poller gathers its own share for `window` seconds from its first message on. Without one
    messages do not wait: a batch has several only if all pollers are busy, for `seconds` each.
    """
    if window:
        return min(1 + rate * window / POLLERS, INGEST_WINDOW_MESSAGES)
    return max(1.0, min(rate * seconds / POLLERS, FULL * BATCH_MESSAGES))


def received_together(rate: float, window: float, seconds: float = BATCH_SECONDS) -> float:
    """Return the messages of one receive call, at so many a second.

    A poll ends with the first message that arrives, also within a window.
    """
    if not window:
        return at_once(rate, window, seconds)
    return max(1.0, min(rate * RECEIVE_SECONDS / POLLERS, SQS_CALL_MESSAGES))


def deleted_together(messages: float) -> float:
    """Return the messages of one delete call, if a function gets about so many at once.

    The last call of a batch has half as many as the others.
    """
    return messages / max(1.0, messages / SQS_CALL_MESSAGES + 0.5)


def billed(size: float) -> int:
    """Return the requests that a call with so many bytes is billed as."""
    return max(1, math.ceil(size / UNIT_BYTES))


def empty_receives(days: float) -> float:
    """Return the calls that poll an idle queue."""
    return POLLERS * days * 86_400 / POLL_SECONDS
