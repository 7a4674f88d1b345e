"""What a message has behind it, and what it takes with it into its next one."""

from collections.abc import Iterable

from bucketcast.dispatch.messages import Dead, Message, Open, Waiting
from bucketcast.dispatch.outcome import FINAL, NotTried, NoTurn, name_of
from bucketcast.envelope import Envelope, Sealed, seal
from bucketcast.errors import DeliveryError, Throttled
from bucketcast.retries import Term, pause


def read(message: Message, now: int) -> Waiting:
    """What a message has behind it; no envelope, where it is none."""
    try:
        envelope = seal(message.body)
    except ValueError:
        return Waiting(message, None, Term(now, message.sent, message.receives))
    told = bool(envelope.reason)
    term = Term(now, message.sent, message.receives, envelope.since, envelope.attempts, told)
    return Waiting(message, envelope, term)


def renewed(one: Waiting) -> str:
    """The body of the message that follows a worn one."""
    if one.envelope is None:
        return one.message.body
    return one.envelope.again(one.term.begun, one.term.carried)


def told(envelope: Sealed, term: Term, error: DeliveryError) -> str:
    """The body of the message that follows one that was not tried, for this reason."""
    attempts = max(1, term.attempts)  # with none, another term would begin
    return envelope.again(term.begun, attempts, str(error), name_of(error))


def history(envelope: Sealed, term: Term, error: DeliveryError | None = None) -> Envelope:
    """What the next message of these events is to have behind it."""
    reason, name = (str(error), name_of(error)) if error else (envelope.reason, envelope.error)
    topic = envelope.topic
    return Envelope(term.begun, attempts=term.tries, reason=reason, error=name, topic=topic)


def together(parts: Iterable[Open], error: DeliveryError) -> Envelope:
    """What one message of the events of several is to have behind it: the longest of each."""
    parts = list(parts)
    return Envelope(
        min(one.term.begun for one in parts),
        attempts=max(1, *(one.term.tries if one.tried else one.term.attempts for one in parts)),
        reason=str(error),
        error=name_of(error),
        topic=next((one.envelope.topic for one in parts if one.envelope.topic), ""),
    )


def dead_one(one: Open, place: int) -> Dead:
    """An event as it is buried."""
    error = one.failures[place]
    reason = str(error)
    if not isinstance(error, FINAL):
        reason = f"{reason} ({one.term})"
    return Dead(one.deliveries[place], one.term.begun, name_of(error), reason)


def pause_of(term: Term, error: DeliveryError, *, tried: bool) -> int:
    """Seconds until an event's next try; none where there was no turn."""
    if not tried and (isinstance(error, NoTurn | NotTried) or term.over):
        return 0
    return pause(term.tries, error.after if isinstance(error, Throttled) else 0.0)
