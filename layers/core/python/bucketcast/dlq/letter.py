"""A message of a dead-letter queue: why it is there, and what it holds.

A target's dead letter is an envelope, one of `ingress` that or a message as its source sent it.
What our functions dead-lettered has a reason among its attributes; what SQS moved has those that it
had in its queue, and so the last failure if one is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from msgspec.structs import replace

from bucketcast import sources
from bucketcast.delivery.envelope import Delivery, is_envelope, number_in, unpack, unwrapped
from bucketcast.delivery.policy import ATTRIBUTE, History
from bucketcast.errors import BadEvent
from bucketcast.event import Event

MovedBy = Literal["bucketcast", "sqs", "eventbridge"]
_EVENTBRIDGE_CODE = "ERROR_CODE"
_EVENTBRIDGE_TEXT = "ERROR_MESSAGE"


@dataclass(frozen=True, slots=True)
class Content:
    """What a dead letter holds.

    `number` is how many events, as far as that is known without reading them. `deliveries` are
    those of an envelope, `events` also those of a message as its source sent it. `problem` is why
    nobody could process it as it is, "" where there is no such reason.
    """

    number: int = 1
    deliveries: Sequence[Delivery] = ()
    events: Sequence[Event] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Letter:
    """A message of a dead-letter queue; `sent` is Unix ms.

    A letter of ours was sent when it was given up. What SQS moved keeps the time at which it
    was first sent. `queue_arn` is the queue that SQS moved it from, "" for a letter of ours.
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
        """Who put it there; what SQS redrove and moved again still has its former reason."""
        if "reason" in self.attributes and not self.queue_arn:
            return "bucketcast"
        return "eventbridge" if _EVENTBRIDGE_CODE in self.attributes else "sqs"

    @property
    def reason(self) -> str:
        """Why it is there, as far as anybody said."""
        if self.moved_by == "bucketcast":
            return self.attributes["reason"]
        if self.moved_by == "eventbridge":
            return f"EventBridge could not deliver it: {self.attribute(_EVENTBRIDGE_TEXT)}"
        last = self.history.reason or self.attribute("reason")
        said = f"; the last known failure: {last}" if last else ""
        return f"SQS moved it: received too often, no reason recorded{said}"

    @property
    def error(self) -> str:
        """The class of the error."""
        return self.attribute("error") or self.attribute(_EVENTBRIDGE_CODE) or self.history.error

    @property
    def history(self) -> History:
        """What had become of it before it died."""
        return History.read(self.attribute("history") or self.attribute(ATTRIBUTE))

    def attribute(self, name: str) -> str:
        """Return a message attribute, "" where it is absent."""
        return self.attributes.get(name, "")

    @property
    def cut(self) -> bool:
        """Whether only the beginning of the message was kept."""
        return "cut" in self.attributes


def count(letter: Letter) -> int:
    """Return how many events it holds, without reading them; 1 where nobody says."""
    try:
        return max(1, number_in(unwrapped(letter.body)))
    except ValueError:
        return 1


def content(letter: Letter, *, ingress: bool) -> Content:
    """Read a dead letter; what cannot be read is said in `problem`."""
    if letter.cut:
        return Content(problem=f"cut: {letter.attribute('cut')}")
    try:
        body = unwrapped(letter.body)
        if ingress and not is_envelope(body):
            return _of_source(body)
        found = unpack(body)
    except ValueError as error:
        return Content(problem=str(error))
    came = letter.history.created or letter.sent
    deliveries = [replace(each, created=each.created or came) for each in found]
    return Content(len(deliveries), deliveries, [each.event for each in deliveries])


def _of_source(body: str) -> Content:
    """Read a message as it came; one that no source reads can be tried again as it is."""
    try:
        events = sources.events(body)
    except BadEvent:
        return Content()
    return Content(len(events), events=events)
