"""The messages of a queue, and the outcome of a batch of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from bucketcast.delivery.envelope import Delivery, unpack
from bucketcast.delivery.policy import ATTRIBUTE, History, Policy, Term
from bucketcast.delivery.tracing import Outcomes
from bucketcast.errors import DeliveryError, OutOfTime, Waiting
from bucketcast.limits import LONGEST_HIDDEN_SECONDS


class Message(NamedTuple):
    """A message of a queue; `sent` is Unix ms, `receives` counts this one too."""

    id: str
    receipt: str
    body: str
    sent: int
    receives: int
    history: History = History()

    @property
    def created(self) -> int:
        """When its events arrived, in Unix ms, unless they have a time of their own."""
        return self.history.created or self.sent


def message(record: Mapping[str, Any]) -> Message:
    """Return the message of Lambda's record."""
    system = record["attributes"]
    attribute = (record.get("messageAttributes") or {}).get(ATTRIBUTE, {})
    return Message(
        record["messageId"],
        record["receiptHandle"],
        record["body"],
        int(system["SentTimestamp"]),
        int(system["ApproximateReceiveCount"]),
        History.read(attribute.get("stringValue") or ""),
    )


def deliveries(message: Message) -> Sequence[Delivery]:
    """Return the events of an envelope, each with when it arrived.

    Raises:
        NewerVersion: only a newer release reads it.
        ValueError: the body is no envelope.
    """
    return unpack(message.body, message.created)


class Received(NamedTuple):
    """A message that is not opened yet, and its term."""

    message: Message
    term: Term

    @property
    def waited(self) -> int:
        """The ms since the first of its events arrived, or was redriven.

        Its term may have begun later.
        """
        history, first = self.message.history, self.term.first_sent
        arrived = 0 if history.redriven else history.created
        return max(0, self.term.now - min(first, arrived or first))


class Failed(NamedTuple):
    """An event that was not delivered, and its error.

    `pause` is the seconds until its target, which is in trouble, is tried again. `to` is
    the one destination that did not get the event, where others did: only that one gets it when it
    is tried again.
    """

    received: Received
    delivery: Delivery
    error: DeliveryError
    pause: int | None = None
    to: str = ""

    @property
    def tries(self) -> int:
        """How often the event was tried, with this time if that was a try."""
        return self.received.message.history.tries + self.error.is_try


class Item(msgspec.Struct, frozen=True, gc=False):
    """One event of an open message."""

    received: Received
    delivery: Delivery

    @property
    def tries(self) -> int:
        """How often it was tried before."""
        return self.received.message.history.tries

    @property
    def last_error(self) -> str:
        """The class of its last error, "" if there is none."""
        return self.delivery.error or self.received.message.history.error

    @property
    def last_reason(self) -> str:
        """The text of its last error."""
        return self.delivery.reason or self.received.message.history.reason

    def fail(self, error: DeliveryError, *, pause: int | None = None, to: str = "") -> Failed:
        """Return the event as failed, with this error."""
        return Failed(self.received, self.delivery, error, pause, to)


class Result(NamedTuple):
    """The result of a work for the events it was given.

    `stop` is the error of all that were to be tried after them, if they are not to be tried now.
    """

    failed: Sequence[Failed]
    stop: OutOfTime | Waiting | None = None


class Work(Protocol):
    """The work on the events of a queue: they are routed, or sent to a target."""

    def close(self) -> None:
        """Close the connection, if any, and drop its secrets."""

    def open(self, received: Received) -> Sequence[Delivery]:
        """Return the events of a message, each with when it arrived.

        Raises:
            NewerVersion: only a newer release reads it.
            ValueError, BadEvent: it cannot be read.
        """

    def begin_batch(self, policy: Policy) -> Waiting | None:
        """Return the obstacle, if nothing can be tried now; None may be given to one batch only."""

    def find_outage(self) -> Waiting | None:
        """Return the reason why nothing arrived lately, if it is known."""

    def __call__(self, items: Sequence[Item], batch: "Batch") -> Result:
        """Do the work."""


class Outcome(msgspec.Struct):
    """The counts of events, and the ids of the messages that `stay` in the queue.

    `waiting` events were not tried: nothing is sent now, or there was no time. `oldest` is the
    seconds that the oldest message has waited. `outcomes` are those of the current chunk.
    """

    stay: list[str] = msgspec.field(default_factory=list)
    delivered: int = 0
    retried: int = 0
    dead: int = 0
    waiting: int = 0
    reason: DeliveryError | None = None
    oldest: float = 0.0
    outcomes: Outcomes = msgspec.field(default_factory=Outcomes)

    def take_outcomes(self) -> Outcomes:
        """Return the outcomes since the last call."""
        outcomes, self.outcomes = self.outcomes, Outcomes()
        return outcomes


class Batch(msgspec.Struct):
    """One invocation: `now` is Unix ms, `remaining` the seconds left, `total` those at the start.

    `policy` is that of the queue, or of the topic whose events they are. `pauses` maps receipts to
    the seconds until a message that stays is visible again.
    """

    now: int
    remaining: Callable[[], float]
    total: float
    policy: Policy
    outcome: Outcome = msgspec.field(default_factory=Outcome)
    pauses: dict[str, int] = msgspec.field(default_factory=dict)

    def keep(self, received: Received, pause: int | None = None) -> None:
        """Leave a message in the queue, visible again after `pause` seconds if that is given.

        The pause is cut: SQS refuses one of days.
        """
        self.outcome.stay.append(received.message.id)
        if pause is not None:
            self.pauses[received.message.receipt] = min(pause, LONGEST_HIDDEN_SECONDS)
