"""The ingress queue and its dead-letter queue, from the side of ingest.

A message that S3 wrote has no place for what it has behind it. Where one is sent again, that stands
beside it, in attributes; a dead letter keeps when its event came.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.ingest import Incoming, Outbox, Unsent
from bucketcast.ingest.intake import Dead
from bucketcast.queues import Outgoing, Queue, buried
from bucketcast.queues.fanout import Fanout
from bucketcast.telemetry import logger

_PREFIX = "bucketcast-"
"""What SNS hands on of its publishers' attributes is called otherwise."""
_NUMBERS = ("since", "tries", "created")


class Ingress:
    """What `ingest.Way` wants.

    Where SQS does not answer, everything stays as it is: the message is seen again.
    """

    def __init__(self, own: Queue, dead: Queue, fanout: Fanout) -> None:
        self._own = own
        self._dead = dead
        self._fanout = fanout

    def send(self, arn: str, outbox: Outbox) -> Sequence[Unsent]:
        return self._fanout.send(arn, outbox)

    def forward(self, arn: str, body: str) -> Unsent | None:
        return self._fanout.forward(arn, body)

    def send_again(self, messages: Sequence[Incoming], delay: int = 0) -> set[int]:
        outgoing = [
            Outgoing(one.body, delay=delay, attributes=_attributes(one)) for one in messages
        ]
        return self._try(self._own, outgoing)

    def bury(self, dead: Sequence[Dead]) -> set[int]:
        return self._try(self._dead, [_grave(one) for one in dead])

    def postpone(self, pauses: dict[str, int]) -> None:
        try:
            self._own.postpone(pauses)
        except (BotoCoreError, ClientError) as error:
            logger.warning("retries come at the queue's own pace", reason=str(error))

    @staticmethod
    def _try(queue: Queue, messages: Sequence[Outgoing]) -> set[int]:
        try:
            return set(queue.send(messages))
        except (BotoCoreError, ClientError) as error:
            logger.error("SQS did not take messages", queue=queue.url, reason=str(error))
            return set(range(len(messages)))


def incoming(record: Mapping[str, Any]) -> Incoming:
    """A message as Lambda hands it over; attributes that are not ours are of no concern."""
    system = record["attributes"]
    beside = record.get("messageAttributes") or {}
    found = {name: beside.get(_PREFIX + name, {}).get("stringValue") or "" for name in _NUMBERS}
    numbers = {name: int(text) for name, text in found.items() if text.isdecimal()}
    return Incoming(
        record["messageId"],
        record["receiptHandle"],
        record["body"],
        int(system["SentTimestamp"]),
        int(system["ApproximateReceiveCount"]),
        to=beside.get(f"{_PREFIX}to", {}).get("stringValue") or "",
        **numbers,
    )


def _attributes(one: Incoming) -> dict[str, str]:
    beside = {"since": str(one.since), "tries": str(one.tries), "created": str(one.came)}
    return {_PREFIX + name: text for name, text in (beside | {"to": one.to}).items() if text}


def _grave(dead: Dead) -> Outgoing:
    """The message with why it lies here, and with what it needs when it is redriven."""
    one = dead.message
    beside = {f"{_PREFIX}created": str(one.came), f"{_PREFIX}to": one.to, "target": one.to}
    return buried(one.body, dead.reason, error=dead.error, **beside)
