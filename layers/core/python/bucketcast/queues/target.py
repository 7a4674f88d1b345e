"""A target's queue and its dead-letter queue, as dispatch uses them."""

from collections.abc import Sequence
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from bucketcast.delivery.envelope import Envelope, TooLarge, pack
from bucketcast.dispatch import Dead, Message, Requeue
from bucketcast.queues import REASON_LENGTH, Outgoing, Queue, dead_letter, escaped, legal_text
from bucketcast.queues.consumer import ConsumerQueue

LONGEST_DELAY = 900


class TargetQueue(ConsumerQueue):
    """Implements `dispatch.QueueActions`."""

    def __init__(self, target: str, own: Queue, dead: Queue, *, fifo: bool) -> None:
        super().__init__(own, dead)
        self._target = target
        self._fifo = fifo

    def dead_letter(self, dead: Sequence[Dead]) -> set[int]:
        letters = []
        for one in dead:
            envelope = Envelope(one.since, events=[one.delivery])
            body = escaped(msgspec.json.encode(envelope).decode())
            letters.append(
                self._dead_letter(body, one.reason, error=one.error, rule=one.delivery.rule)
            )
        return self._try(self._dead, letters)

    def dead_letter_message(self, message: Message, reason: str, error: str = "") -> bool:
        return not self._try(self._dead, [self._dead_letter(message.body, reason, error=error)])

    def requeue(self, parts: Sequence[Requeue]) -> set[int]:
        refused: set[int] = set()
        outgoing: list[Outgoing] = []
        of: list[int] = []
        for index, part in enumerate(parts):
            history = part.history
            legal = replace(history, reason=_legal(history.reason))
            try:
                packed = list(pack(part.deliveries, history.since, history=legal))
            except TooLarge:
                refused.add(index)
                continue
            wait = min(part.pause, LONGEST_DELAY)
            outgoing += [Outgoing(one.body, delay=wait) for one in packed]
            of += [index] * len(packed)
        return refused | {of[index] for index in self._try(self._own, outgoing)}

    def send_again(self, bodies: Sequence[str], pause: int = 0) -> set[int]:
        wait = min(pause, LONGEST_DELAY)
        # A reason in it may be what a server said, with characters that SQS does not take.
        return self._try(self._own, [Outgoing(escaped(body), delay=wait) for body in bodies])

    def _dead_letter(self, body: str, reason: str, **about: str) -> Outgoing:
        letter = dead_letter(body, reason, target=self._target, **about)
        if not self._fifo:
            return letter
        # A token of the event's own would make SQS drop an event that was redriven and is dead
        # again within five minutes. Of one group, SQS would show the first letters only, until
        # they are gone.
        token = uuid4().hex
        return letter._replace(group=token, token=token)


def _legal(reason: str) -> str:
    return legal_text(reason)[:REASON_LENGTH]
