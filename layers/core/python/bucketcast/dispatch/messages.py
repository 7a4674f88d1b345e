"""The messages that dispatch is given, and the ways in which events leave it undelivered."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from bucketcast.dispatch.outcome import Outcome
from bucketcast.envelope import Delivery, Envelope, Sealed
from bucketcast.errors import DeliveryError
from bucketcast.retries import Term


class Message(NamedTuple):
    """A message of the target's queue; `sent` is Unix ms, `receives` counts this one too."""

    id: str
    receipt: str
    body: str
    sent: int
    receives: int


class Waiting(NamedTuple):
    """A message that was not opened yet: its envelope, None if it is none, and its term."""

    message: Message
    envelope: Sealed | None
    term: Term


class Dead(NamedTuple):
    """An event that will not be tried again, and why: the class of the last error, and its text."""

    delivery: Delivery
    since: int
    error: str
    reason: str


class Back(NamedTuple):
    """Events that go back to the queue, what they have behind them, and seconds until they come."""

    deliveries: Sequence[Delivery]
    history: Envelope
    pause: int


class Way(Protocol):
    """How events leave a batch other than by being delivered.

    What SQS did not take must stay in its message: `bury`, `go_back` and `send_again` answer the
    places of those in the list they were given, `bury_message` whether it was taken. While
    `renewing` is entered, its receipts' messages are seen by nobody else; they are so many seconds
    after the function came to an end without a word.
    """

    def bury(self, dead: Sequence[Dead]) -> set[int]: ...

    def bury_message(self, message: Message, reason: str, error: str = "") -> bool: ...

    def go_back(self, parts: Sequence[Back]) -> set[int]: ...

    def send_again(self, bodies: Sequence[str], pause: int = 0) -> set[int]: ...

    def postpone(self, pauses: dict[str, int]) -> None: ...

    def renewing(self, seconds: Mapping[str, int]) -> AbstractContextManager[None]: ...


@dataclass(slots=True)
class Open:
    """A message whose events are known; `tried` are the places of those that were sent."""

    message: Message
    envelope: Sealed
    term: Term
    deliveries: list[Delivery]
    failures: dict[int, DeliveryError] = field(default_factory=dict)
    tried: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Batch:
    """What one invocation is about: `now` is Unix ms, `remaining` the seconds that it has left.

    `whole` is how many it had. `pauses` are the seconds, by receipt, after which messages that stay
    are seen again.
    """

    now: int
    remaining: Callable[[], float]
    whole: float
    outcome: Outcome = field(default_factory=Outcome)
    pauses: dict[str, int] = field(default_factory=dict)

    def stays(self, message: Message, pause: int | None = None) -> None:
        """Let SQS show a message again, at once or as the queue has it where no pause is given."""
        self.outcome.stay.append(message.id)
        if pause is not None:
            self.pauses[message.receipt] = pause
