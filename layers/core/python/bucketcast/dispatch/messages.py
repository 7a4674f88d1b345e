"""The messages of a target's queue, and the actions on those that were not delivered."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from bucketcast.delivery.envelope import Delivery, Envelope, NewerVersion, Sealed
from bucketcast.delivery.retries import Term
from bucketcast.dispatch.outcome import Outcome
from bucketcast.errors import DeliveryError


class Message(NamedTuple):
    """A message of the target's queue; `sent` is Unix ms, `receives` counts this one too."""

    id: str
    receipt: str
    body: str
    sent: int
    receives: int


class SealedMessage(NamedTuple):
    """A message that is not opened yet, its term and its envelope, None if it is not one.

    `newer` says which version it has, if only a newer release reads it.
    """

    message: Message
    envelope: Sealed | None
    term: Term
    newer: NewerVersion | None = None


class Dead(NamedTuple):
    """An event for the dead-letter queue, with the class and the text of its last error."""

    delivery: Delivery
    since: int
    error: str
    reason: str


class Requeue(NamedTuple):
    """Events to requeue, the attempts they carry, and the seconds until they are visible."""

    deliveries: Sequence[Delivery]
    history: Envelope
    pause: int


class RetryActions(Protocol):
    """What can be done with events that were not delivered.

    Each method returns what SQS did not take, which must stay in its message: positions in the list
    that was passed, or for `dead_letter_message` whether the message was taken.
    """

    def dead_letter(self, dead: Sequence[Dead]) -> set[int]: ...

    def dead_letter_message(self, message: Message, reason: str, error: str = "") -> bool: ...

    def send_again(self, bodies: Sequence[str], pause: int = 0) -> set[int]: ...

    def postpone(self, pauses: dict[str, int]) -> None: ...


class QueueActions(RetryActions, Protocol):
    """The actions on a target's queue.

    While `heartbeat` is entered, no other consumer sees the messages of these receipts. If the
    function is killed, they are visible again after the given seconds.
    """

    def requeue(self, parts: Sequence[Requeue]) -> set[int]: ...

    def heartbeat(self, seconds: Mapping[str, int]) -> AbstractContextManager[None]: ...


@dataclass(slots=True)
class OpenMessage:
    """A message with its events; `tried` are the positions of those that were sent."""

    message: Message
    envelope: Sealed
    term: Term
    deliveries: list[Delivery]
    failures: dict[int, DeliveryError] = field(default_factory=dict)
    tried: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Batch:
    """One invocation: `now` is Unix ms, `remaining` the seconds left, `whole` those at the start.

    `pauses` maps receipts to the seconds until a message that stays is visible again.
    """

    now: int
    remaining: Callable[[], float]
    whole: float
    outcome: Outcome = field(default_factory=Outcome)
    pauses: dict[str, int] = field(default_factory=dict)

    def stays(self, message: Message, pause: int | None = None) -> None:
        """Leave a message in the queue, visible again after `pause` seconds if that is given."""
        self.outcome.stay.append(message.id)
        if pause is not None:
            self.pauses[message.receipt] = pause
