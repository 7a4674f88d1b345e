"""What the answers to a batch of POSTs mean: for each event, and for those not sent yet."""

import time
from collections.abc import Callable, Iterator, Sequence

from bucketcast import addresses
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
from bucketcast.targets.webhook import curl

ABOUT_THE_EVENT = frozenset({400, 413, 415, 422})
ABOUT_THE_LOGIN = frozenset({401, 403, 407})
ASKS_FOR_A_PAUSE = frozenset({429, 503})
LONGEST_PAUSE = 900
"""Seconds of a Retry-After that are believed: as long as SQS delays a message."""
ENOUGH_REFUSED = 3
BODY_SHOWN = 200
PREPARED = 128

Write = Callable[[Event], tuple[bytes, list[str]]]
"""The body of an event, and the headers that go with it; raises UnicodeEncodeError."""


class Batch:
    """What of a batch is still to be sent, what failed, and why nothing more is sent, if so.

    `posts` gives place, body and headers of each event in turn; `started` is the place after the
    last one sent.
    """

    def __init__(
        self, events: Sequence[Event], write: Write, headers: Sequence[str], seconds: float
    ) -> None:
        self.posts = self._posts(write, headers)
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
            for place, event in enumerate(self._events[start : start + PREPARED], start):
                try:
                    body, own = write(event)
                except UnicodeEncodeError as error:
                    self.failed(place, Rejected(f"no JSON can hold it: {error}"))
                else:
                    ready.append((place, body, [*headers, *own]))
            yield from ready

    def goes_on(self) -> bool:
        if self._stopped is None:
            if time.monotonic() > self._end:
                self._stopped = Throttled("the endpoint is too slow for so many events", after=0)
        elif self.delivered and isinstance(self._stopped, NotAuthorized):
            self._stopped = None
        return self._stopped is None

    def failed(self, place: int, error: DeliveryError) -> None:
        self._failures[place] = error
        if isinstance(error, NotAuthorized):
            if len(self._failures) > ENOUGH_REFUSED and not self.delivered:
                self._stopped = self._stopped or error
        elif isinstance(error, NotConnected | Throttled):
            self._stopped = error

    def failures(self) -> Failures:
        if self._stopped is not None:
            for place in range(self.started, len(self._events)):
                self._failures.setdefault(place, self._stopped)
        if self.delivered:
            for place, error in self._failures.items():
                if isinstance(error, NotAuthorized):
                    self._failures[place] = Retryable(f"{error}, while others got through")
        return self._failures


def refusal(settings: curl.Endpoint, request: curl.Request, status: int) -> DeliveryError:
    """What a status other than 2xx means; below 200 there was no answer, and curl says why."""
    import pycurl  # noqa: PLC0415 - only its own function carries it

    if status < 200:  # noqa: PLR2004 - answers begin there
        return curl.broken(settings, *request.broke)
    reason = f"{curl.where(settings)} answered {status}"
    if text := _shown(bytes(request.body), settings.auth_token.reveal()):
        reason += f": {text}"
    if status in ABOUT_THE_EVENT:
        return Rejected(reason)
    if status in ABOUT_THE_LOGIN:
        return NotAuthorized(f"{reason} (see auth_token)")
    pause = request.getinfo(pycurl.RETRY_AFTER)
    if status in ASKS_FOR_A_PAUSE and pause > 0:
        return Throttled(reason, after=min(pause, LONGEST_PAUSE))
    if place := request.getinfo(pycurl.REDIRECT_URL):
        return Retryable(
            f"{reason}: redirects are not followed; set endpoint to {addresses.shown(place)}"
        )
    return Retryable(reason)


def _shown(body: bytes, token: str) -> str:
    """The beginning of an answer's body on one line, without the token if it came back."""
    text = body.decode(errors="replace")
    for secret in token.split()[-1:]:
        text = text.replace(secret, "***")
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= BODY_SHOWN else text[:BODY_SHOWN] + "…"
