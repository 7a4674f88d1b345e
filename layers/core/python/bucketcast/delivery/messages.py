"""The messages of a queue, and what a batch of them comes to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec.structs import force_setattr

from bucketcast.delivery.envelope import Delivery, unpack
from bucketcast.delivery.policy import ATTRIBUTE, History, Policy, Term
from bucketcast.delivery.tracing import Outcomes
from bucketcast.errors import DeliveryError, Waiting
from bucketcast.limits import LONGEST_IN_ORDER


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
        """When its events arrived, in Unix ms, unless they say it themselves."""
        return self.history.created or self.sent


def message(record: Mapping[str, Any]) -> Message:
    """Return a message from Lambda's record."""
    system = record["attributes"]
    told = (record.get("messageAttributes") or {}).get(ATTRIBUTE, {})
    return Message(
        record["messageId"],
        record["receiptHandle"],
        record["body"],
        int(system["SentTimestamp"]),
        int(system["ApproximateReceiveCount"]),
        History.read(told.get("stringValue") or ""),
    )


def deliveries(message: Message) -> Sequence[Delivery]:
    """Return the events of an envelope, each with when it arrived.

    Raises:
        NewerVersion: only a newer release reads it.
        ValueError: the body is no envelope.
    """
    found = unpack(message.body)
    for each in found:
        if not each.created:
            force_setattr(each, "created", message.created)
    return found


class Received(NamedTuple):
    """A message that is not opened yet, and its term."""

    message: Message
    term: Term


class Failed(NamedTuple):
    """An event that is not where it belongs, and why.

    What was not `tried` had no turn. `pause` is the seconds until the next try, None where that is
    the policy's to say. `to` is the one destination that did not get the event, where others did:
    only that one gets it when it is tried again.
    """

    of: Received
    delivery: Delivery
    error: DeliveryError
    tried: bool = True
    pause: int | None = None
    to: str = ""


class Item(msgspec.Struct, frozen=True, gc=False):
    """One event of an open message."""

    of: Received
    delivery: Delivery

    def failed(
        self, error: DeliveryError, *, tried: bool = True, pause: int | None = None
    ) -> Failed:
        """Return that the event failed, with this error."""
        return Failed(self.of, self.delivery, error, tried, pause)


class Result(NamedTuple):
    """What a work says of the events it was given.

    `stop` is why no more are tried now, None if they are, and `pause` for how many seconds.
    """

    failed: Sequence[Failed]
    stop: DeliveryError | None = None
    pause: int | None = None


class Work(Protocol):
    """What is done with the events of a queue: they are routed, or sent to a target."""

    @property
    def is_away(self) -> bool:
        """Whether the target did not answer when it was last tried."""

    def close(self) -> None:
        """Close the connection, if any, and drop its secrets."""

    def open(self, one: Received) -> Sequence[Delivery]:
        """Return the events of a message, each with when it arrived.

        Raises:
            NewerVersion: only a newer release reads it.
            ValueError, BadEvent: nobody reads it.
        """

    def hindrance(self, policy: Policy) -> Waiting | None:
        """Return why nothing is tried now, if so; None may let this batch try, and no other."""

    def trouble(self) -> Waiting | None:
        """Return why nothing arrived lately, if that is known."""

    def __call__(self, items: Sequence[Item], batch: "Batch") -> Result:
        """Do it."""


@dataclass(slots=True)
class Outcome:
    """The counts of events, and the ids of the messages that `stay` in the queue.

    `waiting` events were not tried: nothing is sent now, or there was no time. `oldest` is how many
    seconds the oldest message has waited. `outcomes` are those of the current chunk.
    """

    stay: list[str] = field(default_factory=list)
    delivered: int = 0
    retried: int = 0
    dead: int = 0
    waiting: int = 0
    reason: DeliveryError | None = None
    oldest: float = field(default=0.0, compare=False)
    outcomes: Outcomes = field(default_factory=Outcomes, compare=False)

    def take_outcomes(self) -> Outcomes:
        """Return the outcomes since the last call."""
        taken, self.outcomes = self.outcomes, Outcomes()
        return taken


@dataclass(slots=True)
class Batch:
    """One invocation: `now` is Unix ms, `remaining` the seconds left, `whole` those at the start.

    `policy` is that of the queue, or of the topic whose events they are.

    `pauses` maps receipts to the seconds until a message that stays is visible again.
    """

    now: int
    remaining: Callable[[], float]
    whole: float
    policy: Policy
    outcome: Outcome = field(default_factory=Outcome)
    pauses: dict[str, int] = field(default_factory=dict)

    def stays(self, one: Received, pause: int | None = None) -> None:
        """Leave a message in the queue, visible again after `pause` seconds if that is given.

        It is no longer than what waits in order may wait: SQS refuses one of many hours.
        """
        self.outcome.stay.append(one.message.id)
        if pause is not None:
            self.pauses[one.message.receipt] = min(pause, LONGEST_IN_ORDER)
