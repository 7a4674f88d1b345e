"""How often AWS is called for events, by how many of them ingest gets at once."""

import math
from typing import Final, NamedTuple

from bucketcast.limits import BATCH, INGEST_GATHERED

MESSAGES_A_CALL: Final = 10
"""Messages that one call of SQS receives or deletes at most."""
POLLERS: Final = 5
"""Pollers that Lambda has for a queue, also for an idle one."""
POLL_SECONDS: Final = 20
"""How long a poll of an empty queue waits."""
BATCH_SECONDS: Final = 0.1
"""How long a poller is busy with a batch; an assumption, not measured on AWS."""
UNIT_BYTES: Final = 65_536
COMPRESSION: Final = 10
"""How many times smaller events are in a message of ours."""


class QueueCalls(NamedTuple):
    """Calls of SQS on a target's queue, per event."""

    send: float
    receive: float
    delete: float


def at_once(rate: float, window: float) -> float:
    """Return how many messages a function gets at once, of so many a second.

    `window` is for how many seconds they are gathered. Without one a message waits for nothing:
    there are several in a batch only if all pollers are busy.
    """
    most = INGEST_GATHERED if window else BATCH
    return max(1.0, min(rate * (window or BATCH_SECONDS / POLLERS), most))


def received_together(messages: float) -> float:
    """Return the messages of one call to receive, if a function gets so many at once."""
    return max(1.0, min(messages, MESSAGES_A_CALL))


def on_target_queue(events: float, share: float, together: float) -> QueueCalls:
    """Return the calls per event, if ingest gets so many at once, of which a target gets a share.

    Ingest sends one message for a batch. Dispatch gets so many messages `together`.
    """
    messages = min(events * share, 1.0) / events
    polls = messages / received_together(together)
    return QueueCalls(messages, polls, polls)


def billed(size: float) -> int:
    """Return as how many requests a call is billed that carries so many bytes."""
    return max(1, math.ceil(size / UNIT_BYTES))


def empty_receives(days: float) -> float:
    """Return the calls by which an idle queue is polled."""
    return POLLERS * days * 86_400 / POLL_SECONDS
