"""Count the events and bytes in a topic's queue, by what is sent to it and deleted from it.

SQS counts messages, each with one or many events. Only messages that name a topic count: one that
was redriven from the dead-letter queue names none, and its sending was not counted.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bucketcast.delivery.envelope import seal
from bucketcast.queues import Outgoing, Queue


class Queued(NamedTuple):
    """Events, and the bytes of the messages that hold them."""

    queued_events: int = 0
    queued_bytes: int = 0

    def plus(self, other: "Queued", times: int = 1) -> "Queued":
        """Return the sum of this and `times` the other."""
        return Queued(
            self.queued_events + times * other.queued_events,
            self.queued_bytes + times * other.queued_bytes,
        )


def measure(bodies: Iterable[str]) -> Queued:
    """Return what these messages hold; those that are for no topic count nothing."""
    found = Queued()
    for body in bodies:
        try:
            envelope = seal(body)
            size = len(body.encode())
        except ValueError:
            continue
        if envelope.topic:
            found = found.plus(Queued(envelope.number, size))
    return found


class MeasuredQueue(Queue):
    """A queue that remembers how much it was sent."""

    _sent = Queued()

    def send(self, messages: Sequence[Outgoing]) -> dict[int, str]:
        """Send all, as `Queue.send`."""
        failed = super().send(messages)
        taken = (each.body for index, each in enumerate(messages) if index not in failed)
        self._sent = self._sent.plus(measure(taken))
        return failed

    def take_sent(self) -> Queued:
        """Return what SQS took since this was asked last."""
        sent, self._sent = self._sent, Queued()
        return sent
