"""The messages that dispatch is given, and the ways in which events leave it undelivered."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

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


class Dead(NamedTuple):
    """An event that will not be tried again, and why: the class of the last error, and its text."""

    delivery: Delivery
    since: int
    error: str
    reason: str


class Way(Protocol):
    """How events leave a batch other than by being delivered.

    What SQS did not take must stay in its message: `bury` and `send_again` answer the places of
    those in the list they were given, all others answer whether it was taken.
    """

    def bury(self, dead: Sequence[Dead]) -> set[int]: ...

    def bury_message(self, message: Message, reason: str, error: str = "") -> bool: ...

    def go_back(self, part: Sequence[Delivery], history: Envelope, pause: int) -> bool: ...

    def send_again(self, bodies: Sequence[str]) -> set[int]: ...

    def postpone(self, pauses: dict[str, int]) -> None: ...


@dataclass(slots=True)
class Open:
    """A message whose events are known; `tried` are the places of those that were sent."""

    message: Message
    envelope: Sealed
    term: Term
    deliveries: list[Delivery]
    failures: dict[int, DeliveryError] = field(default_factory=dict)
    tried: set[int] = field(default_factory=set)
