"""The errors that the engine itself adds to those of targets."""

from datetime import UTC, datetime

from bucketcast.errors import DeliveryError, Rejected, Retryable


class OutOfTime(Retryable):
    """The function ran out of time before the event was tried."""


class Waiting(Retryable):
    """Nothing can be tried now; its events wait `seconds`, which is no try of theirs."""

    def __init__(self, reason: str, seconds: int | None = None, error: str = "") -> None:
        super().__init__(reason)
        self.seconds = seconds
        self.error = error


class BreakerOpen(Waiting):
    """The breaker is open. `error` is the class of the last error."""


class Paused(Waiting):
    """Somebody paused the target; `since` is Unix ms."""

    def __init__(self, since: int, seconds: int) -> None:
        at = datetime.fromtimestamp(since / 1_000, UTC)
        text = f"the target is paused since {at:%Y-%m-%d %H:%M:%S} UTC"
        super().__init__(text, seconds, "Paused")


class GivenUp(Retryable):
    """The event is not tried any more. `error` and `last` are the last error's class and text."""

    def __init__(self, reason: str, error: str, last: str = "") -> None:
        super().__init__(reason)
        self.error = error
        self.last = last


FINAL = (Rejected, GivenUp)


def name_of(error: DeliveryError) -> str:
    """Return the class name of an error, or of the error that it stands for."""
    stands = error.error if isinstance(error, GivenUp | Waiting) else ""
    return stands or type(error).__name__
