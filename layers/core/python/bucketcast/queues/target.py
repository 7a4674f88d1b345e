"""A target's queue and its dead-letter queue, from the side of dispatch."""

from collections.abc import Mapping, Sequence
from uuid import uuid4

import msgspec
from botocore.exceptions import BotoCoreError, ClientError
from msgspec.structs import replace

from bucketcast.dispatch import Back, Dead, Message
from bucketcast.envelope import Envelope, TooLarge, pack
from bucketcast.queues import REASON_LENGTH, Outgoing, Queue, buried, escaped, legal_text
from bucketcast.queues.renewal import Renewal
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

    def go_back(self, parts: Sequence[Back]) -> set[int]:
        refused: set[int] = set()
        outgoing: list[Outgoing] = []
        of: list[int] = []
        for place, part in enumerate(parts):
            history = part.history
            legal = replace(history, reason=_legal(history.reason))
            try:
                packed = list(pack(part.deliveries, history.since, history=legal))
            except TooLarge:
                refused.add(place)
                continue
            wait = min(part.pause, LONGEST_DELAY)
            outgoing += [Outgoing(one.body, delay=wait) for one in packed]
            of += [place] * len(packed)
        return refused | {of[place] for place in self._try(self._own, outgoing)}

    def send_again(self, bodies: Sequence[str], pause: int = 0) -> set[int]:
        wait = min(pause, LONGEST_DELAY)
        # A reason in it may be what a server said, with characters that SQS does not take.
        return self._try(self._own, [Outgoing(escaped(body), delay=wait) for body in bodies])

    def renewing(self, seconds: Mapping[str, int]) -> Renewal:
        return Renewal(self._own, seconds)

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


def _legal(reason: str) -> str:
    return legal_text(reason)[:REASON_LENGTH]
