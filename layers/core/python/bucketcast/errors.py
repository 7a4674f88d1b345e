"""The errors of this package, and what each means for an event.

::

    BucketcastError
    ├── ConfigError(key, found, allowed)  an invalid setting; ConfigErrors: all of them
    ├── NoAnswer                          no deployment, or no result of a job: nothing is known
    ├── Busy                              others change the same: the same call may succeed soon
    ├── BadEvent(reason)                  an invalid body: dead-lettered with its reason
    └── DeliveryError                     what a target answers for one event
        ├── Retryable                     a fault of the target: the event stays in the queue
        │   ├── NotConnected              the connection is lost: it is closed
        │   │   ├── NotAuthorized         as before, and the secret is fetched again
        │   │   └── TimedOut              no answer: as before, or it is about the event
        │   ├── Throttled(after)          not before so many seconds
        │   ├── RefusesAll                it refused many in a row: it is in trouble
        │   ├── OutOfTime                 the engine's own, as the next two: no time to try it
        │   ├── Waiting(seconds)          nothing is tried now: BreakerOpen, Paused, Unavailable
        │   └── GivenUp                   its tries are over: dead-lettered
        └── Rejected                      a fault of the event: dead-lettered at once

What a repair of the target would fix is never `Rejected`.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import ClassVar, Self


class BucketcastError(Exception):
    """The base of all errors that this package raises on purpose."""


class ConfigError(BucketcastError):
    """One invalid setting: its key, the value found, the values allowed."""

    def __init__(self, key: str, found: str, allowed: str) -> None:
        super().__init__(f"{key}: {found}; {allowed}")
        self.key = key
        self.found = found
        self.allowed = allowed


class ConfigErrors(BucketcastError):
    """All errors of one configuration, in the order they were found."""

    def __init__(self, errors: Sequence[ConfigError]) -> None:
        super().__init__("\n".join(str(error) for error in errors))
        self.errors = tuple(errors)


class NoAnswer(BucketcastError):
    """What was asked is not known: there is no deployment to ask, or a job has no result."""


class Busy(BucketcastError):
    """Others change the same thing at this moment: the same call may succeed soon."""


class BadEvent(BucketcastError):
    """A body that no source recognises, or whose record is broken."""


class DeliveryError(BucketcastError):
    """The reason why one event did not arrive; `hint` is the advice at the end of its text.

    `is_try` tells if it is a failed try of the event: `max_retries` counts those, and pauses grow.
    `may_be_settings`: with a wrong address, or a wrong table, a server says so of all events.
    `stage` is how far the try came: connect, login, send or answer. `answer` is what the server
    said, as far as it is kept. `unlisted` is the code of an answer that has no verdict.
    `alone`: the answer is about one event; others of its batch may be taken. `halves`: if it is one
    for a batch, that is halved until it is alone.
    """

    hint: str = ""
    is_try: ClassVar[bool] = True
    may_be_settings: bool = False
    stage: str = "answer"
    answer: str = ""
    unlisted: str = ""
    alone: bool = False
    halves: ClassVar[bool] = False

    @classmethod
    def hinted(cls, reason: str, hint: str, separator: str = "; ") -> Self:
        """Return the error with a hint at the end of its text."""
        error = cls(f"{reason}{separator}{hint}" if hint else reason)
        error.hint = hint
        return error


class Retryable(DeliveryError):
    """The target could not take the event now; a later try may succeed."""


class NotConnected(Retryable):
    """The target cannot be reached, or the connection broke."""

    stage = "connect"


class NotAuthorized(NotConnected):
    """The target refused the credentials; they are fetched again before the next try."""

    stage = "login"


class TimedOut(NotConnected):
    """The target did not answer in time, or cancelled what took it too long."""

    stage = "answer"


class Throttled(Retryable):
    """The target requested a pause of `after` seconds; the default is for one that says none."""

    def __init__(self, reason: str, after: float = 5.0) -> None:
        super().__init__(reason)
        self.after = after


class RefusesAll(Retryable):
    """The target refused many events in a row: the trouble is its own, or its settings'."""

    @classmethod
    def because(cls, error: DeliveryError) -> Self:
        """Return the error of a target whose last refusal is this one."""
        found = cls(f"{error}; it took none of the last events: is its address right?")
        found.answer = error.answer
        return found


class Rejected(DeliveryError):
    """The target will never take this event."""

    may_be_settings = True
    halves = True

    @classmethod
    def anywhere(cls, reason: str) -> Self:
        """Return the error of an event that no server would take, such as for its age."""
        error = cls(reason)
        error.may_be_settings, error.stage = False, "send"
        return error


class OutOfTime(Retryable):
    """The function ran out of time before the event was tried."""

    is_try = False


class Waiting(Retryable):
    """Nothing can be tried now; its events wait `seconds`, which is no try of theirs."""

    is_try = False

    def __init__(self, reason: str, seconds: int | None = None, error: str = "") -> None:
        super().__init__(reason)
        self.seconds = seconds
        self.error = error


class BreakerOpen(Waiting):
    """The target did not answer for another event. `error` is the class of that error."""

    @classmethod
    def behind(cls, error: DeliveryError, seconds: int | None = None) -> Self:
        """Return the error of the events that were to be sent after one with this error."""
        return cls(str(error), seconds, name_of(error))


class Unavailable(Waiting):
    """A service of AWS's that events need does not answer: no fault of theirs or of a target."""


class Paused(Waiting):
    """Somebody paused the target; `since` is Unix ms."""

    def __init__(self, since: int, seconds: int) -> None:
        at = datetime.fromtimestamp(since / 1_000, UTC)
        text = f"the target is paused since {at:%Y-%m-%d %H:%M:%S} UTC"
        super().__init__(text, seconds, "Paused")


class GivenUp(Retryable):
    """The event is not tried again. `error` and `last` are the last error's class and text."""

    is_try = False

    def __init__(self, reason: str, error: str, last: str = "", answer: str = "") -> None:
        super().__init__(reason)
        self.error = error
        self.last = last
        self.answer = answer


FINAL = (Rejected, GivenUp)


def name_of(error: DeliveryError) -> str:
    """Return the class name of an error, or of the error that it stands for."""
    original = error.error if isinstance(error, GivenUp | Waiting) else ""
    return original or type(error).__name__


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `did you mean 'x'? ` for the nearest known word, or "" if none is near.

    Near is a word each of whose parts is: all targets of a kind begin alike.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - only for a wrong word

    def is_near(candidate: str) -> bool:
        pairs = zip(_parts(word), _parts(candidate), strict=False)
        return all(a[:1] == b[:1] and get_close_matches(a, [b]) for a, b in pairs)

    near = get_close_matches(word, list(filter(is_near, known)), n=1)
    return f"did you mean '{near[0]}'? " if near else ""


def _parts(name: str) -> list[str]:
    return re.split("[:_]", name.casefold())
