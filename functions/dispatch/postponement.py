"""Messages that wait for something other than their target."""

import time
from collections.abc import Mapping
from typing import Any, Final

from bucketcast.delivery.retries import pause
from bucketcast.dispatch.attempts import read
from bucketcast.queues import Queue
from bucketcast.queues.target import TargetQueue
from bucketcast.runtime.model import ONCE
from bucketcast.targets.base import SPARE
from functions.dispatch.batch import message

_SPARE_MS: Final = SPARE * 1_000
"""With less left nothing is sent again: it would be there twice if the function ended first."""
MOST_RECEIVES: Final = 3
"""A message of what is tried once is lost if it was received more often: no try came to an end."""


def postpone(arn: str, own: Queue, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Let messages wait, with a pause that grows as that of a retry.

    What SQS would soon move is sent again as a new message, for which the wait was no try. So is
    what is tried once, before it was received too often; its message has the pause.
    """
    tried_once = own.url.endswith(f"-{ONCE}")
    in_order = own.url.endswith(".fifo")
    queue = TargetQueue(arn, own, own, fifo=in_order)
    now = round(time.time() * 1000)
    received_messages = [read(message(each), now) for each in event["Records"]]
    expiring = [
        each
        for each in received_messages
        if (each.term.needs_renewal or (tried_once and each.term.receives > 1)) and not in_order
    ]
    if context.get_remaining_time_in_millis() < _SPARE_MS:
        expiring = []
    refused = queue.send_again(
        [
            envelope.again(term.started, term.tries if tried_once else term.attempts)
            if envelope
            else one.body
            for one, envelope, term, _ in expiring
        ],
        pause(max((each.term.tries for each in expiring), default=1)) if tried_once else 0,
    )
    gone = {each.message.id for index, each in enumerate(expiring) if index not in refused}
    stay = [each.message.id for each in received_messages if each.message.id not in gone]
    pauses = {
        one.receipt: max(
            pause(term.tries if tried_once else term.receives), term.spacing if in_order else 0
        )
        for one, _, term, _ in received_messages
        if one.id not in gone
    }
    if pauses:
        queue.postpone(pauses)
    return {"batchItemFailures": [{"itemIdentifier": each} for each in stay]}
