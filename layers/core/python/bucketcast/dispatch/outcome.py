"""The outcome of a batch, and the errors that dispatch itself adds."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from bucketcast.delivery.tracing import Outcomes
from bucketcast.errors import DeliveryError, Rejected, Retryable


class OutOfTime(Retryable):
    """The function ran out of time before the event was tried."""


class BreakerOpen(Retryable):
    """The event was not tried: the breaker is open. `error` is the class of the last error."""

    def __init__(self, reason: str, error: str) -> None:
        super().__init__(reason)
        self.error = error


class Paused(BreakerOpen):
    """The event was not tried: somebody paused the target; `since` is Unix ms."""

    def __init__(self, since: int) -> None:
        at = datetime.fromtimestamp(since / 1_000, UTC)
        super().__init__(f"the target is paused since {at:%Y-%m-%d %H:%M:%S} UTC", "Paused")


class GivenUp(Retryable):
    """The event is not tried any more. `error` is the class of the last error."""

    def __init__(self, reason: str, error: str) -> None:
        super().__init__(reason)
        self.error = error


FINAL = (Rejected, GivenUp)


def name_of(error: DeliveryError) -> str:
    """Return the class name of an error, or of the error that it stands for."""
    return error.error if isinstance(error, GivenUp | BreakerOpen) else type(error).__name__


@dataclass(slots=True)
class Outcome:
    """The counts of events, and the ids of the messages that `stay` in the queue.

    `waiting` events were not tried: the breaker is open, the target paused, or there was no time.
    `oldest` is how many seconds the oldest message has been tried for. `outcomes` are those of the
    current chunk.
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
