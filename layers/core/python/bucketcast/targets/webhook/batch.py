"""The state of a batch: events to send, failures, and the reason to stop."""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from bucketcast.errors import (
    BreakerOpen,
    DeliveryError,
    NotAuthorized,
    NotConnected,
    OutOfTime,
    Retryable,
    Throttled,
    TimedOut,
    Waiting,
)
from bucketcast.event import Event
from bucketcast.targets.base import Failures
from bucketcast.targets.webhook.errors import REFUSAL_STATUSES, TOO_MANY
from bucketcast.targets.webhook.limiter import Limiter
from bucketcast.targets.webhook.signature import Signer

MAX_LOGIN_REFUSALS = 3
MAX_REFUSALS_IN_A_ROW = 16
"""So many of single requests mean that fewer at once would not help."""
PREPARE_AT_ONCE = 128

Post = tuple[int, bytes, list[str]]
"""Index, body and headers of an event."""
Encode = Callable[[Event], tuple[bytes, list[str]]]
"""Return the body of an event and its own headers."""


class Batch:
    """The events that are still to be sent, the failures, and the reason to stop, if any.

    An event that was refused with 429 is sent once more after the others, if those get through. A
    503 may be about the event: what becomes of it is for its queue.
    """

    def __init__(
        self,
        events: Sequence[Event],
        encode: Encode,
        headers: list[str],
        seconds: float,
        signer: Signer,
        limiter: Limiter,
    ) -> None:
        self._events = events
        self._encode = encode
        self._headers = headers
        self._signer = signer
        self._limiter = limiter
        self._posts = self._build_posts()
        self._started = 0
        self._again: list[int] = []
        self._delivered = False
        self._is_down, self._refusals_in_a_row = False, 0
        self._failures: dict[int, DeliveryError] = {}
        self._stop_reason: DeliveryError | None = None
        self._end = time.monotonic() + seconds

    def take(self, count: int, now: float) -> Sequence[Post]:
        """Return at most so many events to send now; none if the batch is to stop."""
        if count <= 0 or not self._may_continue(now):
            return ()
        posts = list(islice(self._posts, count))
        if posts:
            self._started = posts[-1][0] + 1
        while self._again and self._delivered and len(posts) < count:
            posts.append(self._build_post(self._again.pop()))
        return [self._sign(post) for post in posts] if self._signer else posts

    def succeed(self, indexes: Sequence[int]) -> None:
        """Record that these events were delivered."""
        self._delivered = True
        self._is_down, self._refusals_in_a_row = False, 0
        if self._failures:
            for index in indexes:
                self._failures.pop(index, None)

    def fail(self, index: int, status: int, error: DeliveryError) -> None:
        """Record that an event was not delivered; `status` is 0 without a response."""
        sent_again = index in self._failures
        self._failures[index] = error
        if self._delivered and not status and not isinstance(error, TimedOut):
            self._refuse(error)
            if self._stop_reason is None:
                self._failures[index] = _beside_others(error)
        elif status in REFUSAL_STATUSES:
            self._refuse(error)
            if status == TOO_MANY and not sent_again and not isinstance(error, Throttled):
                self._again.append(index)
        elif isinstance(error, NotAuthorized):
            if len(self._failures) > MAX_LOGIN_REFUSALS and not self._delivered:
                self._stop_reason = self._stop_reason or error
        elif isinstance(error, NotConnected):
            self._stop_reason = error

    def _refuse(self, error: DeliveryError) -> None:
        """Take a slot away, unless fewer at once would not help either."""
        self._refusals_in_a_row += 1
        if not self._is_down and self._limiter.limit > 1:
            self._limiter.record_refusal()
        elif isinstance(error, Throttled | NotConnected):
            self._stop_reason = error
        elif not self._is_down and self._refusals_in_a_row >= MAX_REFUSALS_IN_A_ROW:
            self._is_down = True
            self._limiter.restart()

    def failures(self) -> Failures:
        if self._stop_reason is not None:
            unsent = self._stop_reason
            if isinstance(unsent, Throttled):  # which is a failed try of those that were refused
                unsent = Waiting(str(unsent), round(unsent.after))
            elif isinstance(unsent, NotConnected):
                unsent = BreakerOpen.behind(unsent)
            for index in range(self._started, len(self._events)):
                self._failures.setdefault(index, unsent)
        if self._delivered:
            for index, error in self._failures.items():
                if isinstance(error, NotAuthorized):
                    self._failures[index] = _beside_others(error)
        return self._failures

    def _build_posts(self) -> Iterator[Post]:
        # Many at once: encoding between the requests takes twice as long, with a cold cache.
        for start in range(0, len(self._events), PREPARE_AT_ONCE):
            end = min(start + PREPARE_AT_ONCE, len(self._events))
            yield from [self._build_post(index) for index in range(start, end)]

    def _build_post(self, index: int) -> Post:
        body, headers = self._encode(self._events[index])
        return index, body, self._headers + headers

    def _sign(self, post: Post) -> Post:
        # A signature has the time of the request, not of its preparation.
        index, body, headers = post
        return index, body, [*headers, *self._signer.headers(self._events[index].id, body)]

    def _may_continue(self, now: float) -> bool:
        if self._stop_reason is None:
            if now > self._end:
                self._stop_reason = OutOfTime("the endpoint is too slow for so many events")
        elif self._delivered and isinstance(self._stop_reason, NotAuthorized):
            self._stop_reason = None
        return self._stop_reason is None


def _beside_others(error: DeliveryError) -> Retryable:
    found = Retryable(f"{error}, while others got through")
    found.unlisted = error.unlisted
    return found
