"""What became of a batch, and the reasons that are dispatch's own."""

from dataclasses import dataclass, field

from bucketcast.errors import DeliveryError, Rejected, Retryable
from bucketcast.tracing import Fates


class NoTurn(Retryable):
    """There was no time left to try the event."""


class NotTried(Retryable):
    """The target does not answer; `error` is the class of the last error that is known."""

    def __init__(self, reason: str, error: str) -> None:
        super().__init__(reason)
        self.error = error


class GivenUp(Retryable):
    """The event is not tried any more; `error` is the class of the last error that is known."""

    def __init__(self, reason: str, error: str) -> None:
        super().__init__(reason)
        self.error = error


FINAL = (Rejected, GivenUp)


def name_of(error: DeliveryError) -> str:
    """The class of an error, or of that which it stands for."""
    return error.error if isinstance(error, GivenUp | NotTried) else type(error).__name__


@dataclass(slots=True)
class Outcome:
    """`stay` are the ids of messages that SQS is to show again; the rest are counts of events.

    `waiting` are those that were not tried because the target does not answer, `oldest` is for how
    many seconds the oldest message has been tried, `fates` are of the portion at hand.
    """

    stay: list[str] = field(default_factory=list)
    delivered: int = 0
    retried: int = 0
    dead: int = 0
    waiting: int = 0
    reason: DeliveryError | None = None
    oldest: float = field(default=0.0, compare=False)
    fates: Fates = field(default_factory=Fates, compare=False)

    def take_fates(self) -> Fates:
        """What became of the events since this was asked last."""
        taken, self.fates = self.fates, Fates()
        return taken
