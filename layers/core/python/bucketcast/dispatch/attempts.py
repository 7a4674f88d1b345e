"""The attempts made so far: read from a message, and carried over into its successor."""

from collections.abc import Iterable

from bucketcast.delivery.envelope import Envelope, NewerVersion, Sealed, seal
from bucketcast.delivery.retries import Term, pause
from bucketcast.dispatch.messages import Dead, Message, OpenMessage, SealedMessage
from bucketcast.dispatch.outcome import FINAL, BreakerOpen, OutOfTime, name_of
from bucketcast.errors import DeliveryError, Throttled


def read(message: Message, now: int) -> SealedMessage:
    """Return a message with its envelope and term; the envelope is None if the body is not one."""
    try:
        envelope = seal(message.body)
    except ValueError as error:
        newer = error if isinstance(error, NewerVersion) else None
        return SealedMessage(message, None, Term(now, message.sent, message.receives), newer)
    failed = bool(envelope.reason)
    term = Term(now, message.sent, message.receives, envelope.since, envelope.attempts, failed)
    return SealedMessage(message, envelope, term)


def renewed(one: SealedMessage) -> str:
    """Return the body of a message's successor."""
    if one.envelope is None:
        return one.message.body
    return one.envelope.again(one.term.started, one.term.carried_attempts)


def untried(envelope: Sealed, term: Term, error: DeliveryError) -> str:
    """Return the body of the successor of a message that was not tried, with the reason."""
    attempts = max(1, term.attempts)  # with none, another term would begin
    return envelope.again(term.started, attempts, str(error), name_of(error))


def history(envelope: Sealed, term: Term, error: DeliveryError | None = None) -> Envelope:
    """Return the attempts that the next message of these events carries."""
    reason, name = (str(error), name_of(error)) if error else (envelope.reason, envelope.error)
    topic = envelope.topic
    return Envelope(term.started, attempts=term.tries, reason=reason, error=name, topic=topic)


def merged(parts: Iterable[OpenMessage], error: DeliveryError) -> Envelope:
    """Return the attempts for events merged from several messages: the largest of each."""
    parts = list(parts)
    return Envelope(
        min(one.term.started for one in parts),
        attempts=max(1, *(one.term.tries if one.tried else one.term.attempts for one in parts)),
        reason=str(error),
        error=name_of(error),
        topic=next((one.envelope.topic for one in parts if one.envelope.topic), ""),
    )


def dead_one(one: OpenMessage, index: int) -> Dead:
    """Return an event as a dead letter."""
    error = one.failures[index]
    reason = str(error)
    if not isinstance(error, FINAL):
        reason = f"{reason} ({one.term})"
    return Dead(one.deliveries[index], one.term.started, name_of(error), reason)


def pause_of(term: Term, error: DeliveryError, *, tried: bool) -> int:
    """Return the seconds until an event's next try; 0 if it was not tried."""
    if not tried and (isinstance(error, OutOfTime | BreakerOpen) or term.expired):
        return 0
    return pause(term.tries, error.after if isinstance(error, Throttled) else 0.0)
