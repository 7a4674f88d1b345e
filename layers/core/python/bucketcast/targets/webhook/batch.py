"""What of a batch was sent, what failed, and whether to go on."""

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

ENOUGH_REFUSED = 3
PREPARED = 128

Write = Callable[[Event], tuple[bytes, list[str]]]
"""The body of an event, and the headers that go with it; raises UnicodeEncodeError."""


class Batch:
    """What of a batch is still to be sent, what failed, and why nothing more is sent, if so.

    `posts` gives index, body and headers of each event in turn; `started` is the index after the
    last one sent.
    """

    def __init__(
        self,
        events: Sequence[Event],
        write: Write,
        headers: Sequence[str],
        seconds: float,
        signer: Signer,
    ) -> None:
        posts = self._posts(write, headers)
        self.posts = self._signed(posts, signer) if signer else posts
        self.started = 0
        self.delivered = False
        self._events = events
        self._failures: dict[int, DeliveryError] = {}
        self._stopped: DeliveryError | None = None
        self._end = time.monotonic() + seconds

    def _posts(
        self, write: Write, headers: Sequence[str]
    ) -> Iterator[tuple[int, bytes, list[str]]]:
        # Many at once: encoding between the requests takes twice as long, out of a cold cache.
        for start in range(0, len(self._events), PREPARED):
            ready = []
            for index, event in enumerate(self._events[start : start + PREPARED], start):
                try:
                    body, own = write(event)
                except UnicodeEncodeError as error:
                    self.failed(index, Rejected(f"no JSON can hold it: {error}"))
                else:
                    ready.append((index, body, [*headers, *own]))
            yield from ready

    def _signed(
        self, posts: Iterator[tuple[int, bytes, list[str]]], signer: Signer
    ) -> Iterator[tuple[int, bytes, list[str]]]:
        # One by one: the time in a signature is that of the request, not of its preparation.
        for index, body, headers in posts:
            yield index, body, [*headers, *signer.headers(self._events[index].id, body)]

    def goes_on(self) -> bool:
        if self._stopped is None:
            if time.monotonic() > self._end:
                self._stopped = Throttled("the endpoint is too slow for so many events", after=0)
        elif self.delivered and isinstance(self._stopped, NotAuthorized):
            self._stopped = None
        return self._stopped is None

    def failed(self, index: int, error: DeliveryError) -> None:
        self._failures[index] = error
        if isinstance(error, NotAuthorized):
            if len(self._failures) > ENOUGH_REFUSED and not self.delivered:
                self._stopped = self._stopped or error
        elif isinstance(error, NotConnected | Throttled):
            self._stopped = error

    def failures(self) -> Failures:
        if self._stopped is not None:
            for index in range(self.started, len(self._events)):
                self._failures.setdefault(index, self._stopped)
        if self.delivered:
            for index, error in self._failures.items():
                if isinstance(error, NotAuthorized):
                    self._failures[index] = Retryable(f"{error}, while others got through")
        return self._failures
