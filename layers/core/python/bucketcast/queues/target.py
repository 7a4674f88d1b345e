"""A target's queue and its dead-letter queue, from the side of dispatch."""

from collections.abc import Sequence
from uuid import uuid4

import msgspec
from botocore.exceptions import BotoCoreError, ClientError
from msgspec.structs import replace

from bucketcast.dispatch import Dead, Message
from bucketcast.envelope import Delivery, Envelope, TooLarge, pack
from bucketcast.queues import REASON_LENGTH, Outgoing, Queue, buried, escaped, legal_text
from bucketcast.telemetry import logger

LONGEST_DELAY = 900


class TargetQueue:
    """What `dispatch.Way` wants.

    Where SQS does not answer, everything stays as it is: the message is seen again.
    """

    def __init__(self, target: str, own: Queue, dead: Queue, *, fifo: bool) -> None:
        self._target = target
        self._own = own
        self._dead = dead
        self._fifo = fifo

    def bury(self, dead: Sequence[Dead]) -> set[int]:
        graves = []
        for one in dead:
            envelope = Envelope(one.since, events=[one.delivery])
            body = escaped(msgspec.json.encode(envelope).decode())
            graves.append(self._grave(body, one.reason, error=one.error, rule=one.delivery.rule))
        return self._try(self._dead, graves)

    def bury_message(self, message: Message, reason: str, error: str = "") -> bool:
        return not self._try(self._dead, [self._grave(message.body, reason, error=error)])

    def go_back(self, part: Sequence[Delivery], history: Envelope, pause: int) -> bool:
        legal = replace(history, reason=legal_text(history.reason)[:REASON_LENGTH])
        try:
            packed = list(pack(part, history.since, history=legal))
        except TooLarge:
            return False
        return not self._try(
            self._own, [Outgoing(one.body, delay=min(pause, LONGEST_DELAY)) for one in packed]
        )

    def send_again(self, bodies: Sequence[str]) -> set[int]:
        return self._try(self._own, [Outgoing(body) for body in bodies])

    def postpone(self, pauses: dict[str, int]) -> None:
        try:
            self._own.postpone(pauses)
        except (BotoCoreError, ClientError) as error:
            logger.warning("retries come at the queue's own pace", reason=str(error))

    def _grave(self, body: str, reason: str, **about: str) -> Outgoing:
        grave = buried(body, reason, target=self._target, **about)
        if not self._fifo:
            return grave
        # A token of the event's own would make SQS drop an event that was taken out of its grave
        # and is buried again within five minutes.
        return grave._replace(group=self._target, token=uuid4().hex)

    @staticmethod
    def _try(queue: Queue, messages: Sequence[Outgoing]) -> set[int]:
        try:
            failed = queue.send(messages)
        except (BotoCoreError, ClientError) as error:
            logger.error("SQS did not take messages", queue=queue.url, reason=str(error))
            return set(range(len(messages)))
        return set(failed)
