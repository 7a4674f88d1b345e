"""What became of a batch, and what a message takes with it into its next one."""

from dataclasses import dataclass, field

from bucketcast.dispatch.messages import Dead, Message, Open
from bucketcast.envelope import Envelope, Sealed, seal
from bucketcast.errors import DeliveryError, Rejected, Retryable, Throttled
from bucketcast.retries import Term, pause
from bucketcast.tracing import Fates


class NoTurn(Retryable):
    """There was no time left to try the event."""


class GivenUp(Retryable):
    """The event is not tried any more; `error` is the class of the last error that is known."""

    def __init__(self, reason: str, error: str) -> None:
        super().__init__(reason)
        self.error = error


@dataclass(slots=True)
class Outcome:
    """`stay` are the ids of messages that SQS is to show again; the rest are counts of events.

    `oldest` is for how many seconds the oldest message has been tried, `fates` are of the portion
    at hand.
    """

    stay: list[str] = field(default_factory=list)
    delivered: int = 0
    retried: int = 0
    dead: int = 0
    reason: DeliveryError | None = None
    oldest: float = field(default=0.0, compare=False)
    fates: Fates = field(default_factory=Fates, compare=False)

    def take_fates(self) -> Fates:
        """What became of the events since this was asked last."""
        taken, self.fates = self.fates, Fates()
        return taken


def read(message: Message, now: int) -> tuple[Sealed | None, Term]:
    """What a message has behind it; nothing, where it is no envelope."""
    try:
        envelope = seal(message.body)
    except ValueError:
        return None, Term(now, message.sent, message.receives)
    told = bool(envelope.reason)
    return envelope, Term(
        now, message.sent, message.receives, envelope.since, envelope.attempts, told
    )


def renewed(message: Message, envelope: Sealed | None, term: Term) -> str:
    return envelope.again(term.begun, term.carried) if envelope else message.body


def history(envelope: Sealed, term: Term, error: DeliveryError | None = None) -> Envelope:
    """What the next message of these events is to have behind it."""
    reason, name = (
        (str(error), type(error).__name__) if error else (envelope.reason, envelope.error)
    )
    return Envelope(term.begun, attempts=term.tries, reason=reason, error=name)


def dead_one(one: Open, place: int) -> Dead:
    error = one.failures[place]
    name, reason = type(error).__name__, str(error)
    if isinstance(error, GivenUp):
        name = error.error
    elif not isinstance(error, Rejected):
        reason = f"{reason} ({one.term})"
    return Dead(one.deliveries[place], one.term.begun, name, reason)


def pause_of(one: Open, place: int) -> int:
    """Seconds until an event's next try; none where there was no turn."""
    error = one.failures[place]
    if place not in one.tried:
        return pause_unopened(one.term, error)
    return _pause(one.term, error)


def pause_unopened(term: Term, gone: DeliveryError) -> int:
    """Seconds until the next try of what was not sent, for what happened before its turn."""
    return 0 if isinstance(gone, NoTurn) or term.over else _pause(term, gone)


def _pause(term: Term, error: DeliveryError) -> int:
    return pause(term.tries, error.after if isinstance(error, Throttled) else 0.0)
