"""A message of a dead-letter queue: its reason and its content.

A target's dead letter is an envelope, one of `ingress` that or a message as its source sent it.
Letters of our functions have a reason among their attributes. Messages that SQS moved keep the
attributes that they had in their queue, and so the last failure if one is known.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from bucketcast import sources
from bucketcast.delivery.dead_letters import unwrap
from bucketcast.delivery.envelope import Delivery, is_envelope, number_in, unpack
from bucketcast.delivery.policy import ATTRIBUTE, History
from bucketcast.errors import BadEvent
from bucketcast.event import Event

GROUP_DIGITS = 10
SENT = "sent"
MOVED_FROM = "moved_from"
"""The attributes of a letter that is the rest of another: when it was sent, and `queue_arn`."""
_EVENTBRIDGE_CODE = "ERROR_CODE"
_amounts = re.compile(r"(?<![\w.-])[0-9]+ (bytes|days|tries|ms|milliseconds)\b")
_answer = re.compile(r"\banswered [0-9]+: ")
_numbers = re.compile(
    r"""(?P<code>(?:code|status|error|errno|http(?:/[0-9.]+)?)\W{1,3}[0-9]+)
    | (?: (?<![^\s(=\#]) | (?<=":) ) [0-9]+ (?= [.:]? (?: [\s),;}\]] | $ ) )""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a dead letter.

    `deliveries` are those of an envelope, `events` also those of a message as its source sent it.
    `problem` is the reason for which it cannot be processed as it is, "" without one.
    """

    deliveries: Sequence[Delivery] = ()
    events: Sequence[Event] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Letter:
    """A message of a dead-letter queue; `sent` is Unix ms.

    A letter of ours was sent when its events were given up. A message that SQS moved keeps the time
    at which it was first sent; `queue_arn` is the queue that it came from, "" for a letter of ours.
    """

    id: str
    receipt: str
    body: str
    sent: int
    receives: int = 0
    attributes: Mapping[str, str] = field(default_factory=dict)
    queue_arn: str = ""

    @property
    def moved_by(self) -> str:
        """The mover: `bucketcast`, `sqs` or `eventbridge`.

        A message that SQS redrove and moved again still has its former reason.
        """
        if "reason" in self.attributes and not self.queue_arn:
            return "bucketcast"
        return "eventbridge" if _EVENTBRIDGE_CODE in self.attributes else "sqs"

    @property
    def reason(self) -> str:
        """The reason, as far as one is recorded."""
        if self.moved_by == "bucketcast":
            return self.attributes["reason"]
        if self.moved_by == "eventbridge":
            return f"EventBridge could not deliver it: {self.attribute('ERROR_MESSAGE')}"
        last_failure = self.history.reason or self.attribute("reason")
        suffix = f"; the last known failure: {last_failure}" if last_failure else ""
        return f"SQS moved it: received too often, no reason recorded{suffix}"

    @property
    def error(self) -> str:
        """The class of the error."""
        return self.attribute("error") or self.attribute(_EVENTBRIDGE_CODE) or self.history.error

    @property
    def history(self) -> History:
        """The attempts before it was dead-lettered."""
        return History.read(self.attribute("history") or self.attribute(ATTRIBUTE))

    @property
    def group(self) -> str:
        """The id of its group: the letters of a queue with one cause (`_cause`)."""
        rule, topic = self.attribute("rule"), self.history.topic
        parts = (rule, self.error, self.moved_by, topic, _cause(self.reason))
        return blake2b("\0".join(parts).encode(), digest_size=GROUP_DIGITS // 2).hexdigest()

    def attribute(self, name: str) -> str:
        """Return a message attribute, "" where it is absent."""
        return self.attributes.get(name, "")


def _cause(reason: str) -> str:
    """Return a reason without the numbers that each event has others of.

    Those are amounts, and what stands alone in the text of an answer. The status of the answer,
    other codes, addresses, and numbers in names tell causes apart.
    """
    match = _answer.search(reason)
    start = match.end() if match else len(reason)
    text = _numbers.sub(lambda number: number["code"] or "#", reason[start:])
    return _amounts.sub(r"# \1", reason[:start]) + text


def count_events(letter: Letter) -> int:
    """Return the number of events, without reading them; 1 if it is unknown."""
    try:
        return max(1, number_in(unwrap(letter.body)))
    except ValueError:
        return 1


def read_content(letter: Letter, *, ingress: bool) -> Content:
    """Read a dead letter; `problem` has the reason if that fails."""
    if cut := letter.attribute("cut"):
        return Content(problem=f"cut: {cut}")
    try:
        body = unwrap(letter.body)
        if ingress and not is_envelope(body):
            return _read_source_message(body)
        deliveries = unpack(body, letter.history.created or letter.sent)
    except ValueError as error:
        return Content(problem=str(error))
    return Content(deliveries, [delivery.event for delivery in deliveries])


def _read_source_message(body: str) -> Content:
    """Read a message as its source sent it; one in no known dialect can be sent again unread."""
    try:
        return Content(events=sources.events(body))
    except BadEvent:
        return Content()
