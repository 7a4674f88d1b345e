"""What can go wrong, and what the reader of the error is to do about it.

::

    BucketcastError
    ├── ConfigError(key, found, allowed)  a setting that cannot be; ConfigErrors: all of them
    ├── BadEvent(reason)                  a body that is no event: buried with its reason
    └── DeliveryError                     what a target answers for one event
        ├── Retryable                     the target's trouble: the event stays in the queue
        │   ├── NotConnected              the connection is of no use any more: it is closed
        │   │   └── NotAuthorized         as before, and the secret is fetched again
        │   ├── Throttled(after)          not before so many seconds
        │   └── Foreign                   a mirror shows the bucket of another source
        └── Rejected                      the event's own trouble: buried at once with its reason

What a repair of the target would cure is never `Rejected`.
"""

import difflib
from collections.abc import Iterable, Sequence


class BucketcastError(Exception):
    """Everything this package raises on purpose."""


class ConfigError(BucketcastError):
    """One setting that cannot be: which key, what was found there, what is allowed."""

    def __init__(self, key: str, found: str, allowed: str) -> None:
        super().__init__(f"{key}: {found}; {allowed}")
        self.key = key
        self.found = found
        self.allowed = allowed


class ConfigErrors(BucketcastError):
    """All mistakes of one configuration, in the order in which they were met."""

    def __init__(self, errors: Sequence[ConfigError]) -> None:
        super().__init__("\n".join(str(error) for error in errors))
        self.errors = tuple(errors)


class BadEvent(BucketcastError):
    """A body that no source recognises, or whose record is broken."""


class DeliveryError(BucketcastError):
    """Why one event did not arrive."""


class Retryable(DeliveryError):
    """The target could not take the event now; a later try may succeed."""


class NotConnected(Retryable):
    """The target cannot be reached, or the connection broke."""


class NotAuthorized(NotConnected):
    """The target refused the credentials; they are fetched again before the next try."""


class Throttled(Retryable):
    """The target asked for a pause of `after` seconds."""

    def __init__(self, reason: str, after: float) -> None:
        super().__init__(reason)
        self.after = after


class Foreign(Retryable):
    """A mirror shows the event's bucket of another source; who runs it has to decide.

    What comes after it does not depend on it: where order is kept, it is buried at once.
    """


class Rejected(DeliveryError):
    """The target will never take this event."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`did you mean 'x'? ` for the nearest known word, or nothing when none is near."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean '{near[0]}'? " if near else ""
