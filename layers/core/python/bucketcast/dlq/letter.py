"""A message of a dead-letter queue: why it is there, and what it holds.

A target's dead letter is an envelope, one of `ingress` the message as its source sent it. What our
functions dead-lettered has a reason among its attributes; what SQS or EventBridge moved has none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from msgspec.structs import replace

from bucketcast import sources
from bucketcast.delivery.envelope import Delivery, seal, unwrapped
from bucketcast.errors import BadEvent
from bucketcast.event import Event

MovedBy = Literal["bucketcast", "sqs", "eventbridge"]
ADDRESSED = "bucketcast-to"
CREATED = "bucketcast-created"
_EVENTBRIDGE_CODE = "ERROR_CODE"
_EVENTBRIDGE_TEXT = "ERROR_MESSAGE"


@dataclass(frozen=True, slots=True)
class Content:
    """What a dead letter holds.

    `number` is how many events, as far as that is known without reading them. `deliveries` are
    those of an envelope, `events` also those of a message of the ingress queue. `problem` is why
    nobody could process it as it is, "" where there is no such reason.
    """

    number: int = 1
    deliveries: Sequence[Delivery] = ()
    events: Sequence[Event] = ()
    since: int = 0
    attempts: int = 0
    topic: str = ""
    last_reason: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Letter:
    """A message of a dead-letter queue; `sent` is Unix ms.

    A letter of ours was sent when it was given up. What SQS moved keeps the time at which it
    was first sent. `queue_arn` is the queue that it was moved from, "" for a letter of ours.
    """

    id: str
    receipt: str
    body: str
    sent: int
    receives: int = 0
    attributes: Mapping[str, str] = field(default_factory=dict)
    queue_arn: str = ""

    @property
    def moved_by(self) -> MovedBy:
        """Who put it there."""
        if "reason" in self.attributes:
            return "bucketcast"
        return "eventbridge" if _EVENTBRIDGE_CODE in self.attributes else "sqs"

    @property
    def reason(self) -> str:
        """Why it is there, as far as anybody said."""
        if self.moved_by == "bucketcast":
            return self.attributes["reason"]
        if self.moved_by == "eventbridge":
            return f"EventBridge could not deliver it: {self.attribute(_EVENTBRIDGE_TEXT)}"
        said = f"; the last known failure: {last}" if (last := _last_reason(self.body)) else ""
        return f"SQS moved it: received too often, no reason recorded{said}"

    @property
    def error(self) -> str:
        """The class of the error."""
        return self.attribute("error") or self.attribute(_EVENTBRIDGE_CODE)

    def attribute(self, name: str) -> str:
        """Return a message attribute, "" where it is absent."""
        return self.attributes.get(name, "")

    @property
    def cut(self) -> bool:
        """Whether only the beginning of the message was kept."""
        return "cut" in self.attributes


def count(letter: Letter, *, ingress: bool) -> int:
    """Return how many events it holds, without reading them; 1 where nobody says."""
    if ingress and not letter.attribute(ADDRESSED):
        return 1
    try:
        return seal(unwrapped(letter.body)).number
    except ValueError:
        return 1


def content(letter: Letter, *, ingress: bool) -> Content:
    """Read a dead letter; what cannot be read is said in `problem`."""
    if letter.cut:
        return Content(problem=f"cut: {letter.attribute('cut')}")
    try:
        body = unwrapped(letter.body)
    except ValueError as error:
        return Content(problem=str(error))
    if ingress and not letter.attribute(ADDRESSED):
        return _of_source(body)
    return _of_envelope(letter, body)


def _of_source(body: str) -> Content:
    """Read a message of the ingress queue; one that no source reads can be tried again as it is."""
    try:
        events = sources.events(body)
    except BadEvent:
        return Content()
    return Content(len(events), events=events)


def _of_envelope(letter: Letter, body: str) -> Content:
    try:
        envelope = seal(body)
        found = envelope.open()
    except ValueError as error:
        return Content(problem=str(error))
    deliveries = [
        replace(each, created=each.created or envelope.since or letter.sent) for each in found
    ]
    return Content(
        len(deliveries),
        deliveries,
        [each.event for each in deliveries],
        envelope.since,
        envelope.attempts,
        envelope.topic,
        envelope.reason,
    )


def _last_reason(body: str) -> str:
    try:
        return seal(unwrapped(body)).reason
    except ValueError:
        return ""
