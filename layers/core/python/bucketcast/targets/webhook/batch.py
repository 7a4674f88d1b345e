"""The state of a batch: events to send, failures, and the reason to stop."""

import time
from collections.abc import Callable, Iterator, Sequence

from bucketcast.errors import (
    DeliveryError,
    NotAuthorized,
    NotConnected,
    Rejected,
    Retryable,
    Throttled,
)
from bucketcast.event import Event
from bucketcast.targets.base import Failures
from bucketcast.targets.webhook.signature import Signer

MAX_REFUSALS = 3
PREPARE_AT_ONCE = 128

Encode = Callable[[Event], tuple[bytes, list[str]]]
"""Return the body of an event and its headers; raises UnicodeEncodeError."""


class Batch:
    """The events that are still to be sent, the failures, and the reason to stop, if any.

    `posts` yields index, body and headers of each event; `started` is the index after the last one
    sent.
    """

    def __init__(
        self,
        events: Sequence[Event],
        encode: Encode,
        headers: Sequence[str],
        seconds: float,
        signer: Signer,
    ) -> None:
        posts = self._build_posts(encode, headers)
        self.posts = self._sign(posts, signer) if signer else posts
        self.started = 0
        self.delivered = False
        self._events = events
        self._failures: dict[int, DeliveryError] = {}
        self._stop_reason: DeliveryError | None = None
        self._end = time.monotonic() + seconds

    def _build_posts(
        self, encode: Encode, headers: Sequence[str]
    ) -> Iterator[tuple[int, bytes, list[str]]]:
        # Many at once: encoding between the requests takes twice as long, with a cold cache.
        for start in range(0, len(self._events), PREPARE_AT_ONCE):
            prepared = []
            for index, event in enumerate(self._events[start : start + PREPARE_AT_ONCE], start):
                try:
                    body, event_headers = encode(event)
                except UnicodeEncodeError as error:
                    self.fail(index, Rejected(f"no JSON can hold it: {error}"))
                else:
                    prepared.append((index, body, [*headers, *event_headers]))
            yield from prepared

    def _sign(
        self, posts: Iterator[tuple[int, bytes, list[str]]], signer: Signer
    ) -> Iterator[tuple[int, bytes, list[str]]]:
        # One by one: a signature has the time of the request, not of its preparation.
        for index, body, headers in posts:
            yield index, body, [*headers, *signer.headers(self._events[index].id, body)]

    def may_continue(self) -> bool:
        if self._stop_reason is None:
            if time.monotonic() > self._end:
                self._stop_reason = Throttled(
                    "the endpoint is too slow for so many events", after=0
                )
        elif self.delivered and isinstance(self._stop_reason, NotAuthorized):
            self._stop_reason = None
        return self._stop_reason is None

    def fail(self, index: int, error: DeliveryError) -> None:
        self._failures[index] = error
        if isinstance(error, NotAuthorized):
            if len(self._failures) > MAX_REFUSALS and not self.delivered:
                self._stop_reason = self._stop_reason or error
        elif isinstance(error, NotConnected | Throttled):
            self._stop_reason = error

    def failures(self) -> Failures:
        if self._stop_reason is not None:
            for index in range(self.started, len(self._events)):
                self._failures.setdefault(index, self._stop_reason)
        if self.delivered:
            for index, error in self._failures.items():
                if isinstance(error, NotAuthorized):
                    self._failures[index] = Retryable(f"{error}, while others got through")
        return self._failures
