"""Webhook: each event is one HTTP POST of MinIO's JSON body to an endpoint.

A request says `Content-Type: application/json`, `User-Agent: bucketcast/<version>`, `webhook-id`
(the same for every delivery of the same event, so that a receiver can drop repeats) and, where
there is an `auth_token`, `Authorization`: one word is sent as `Bearer <word>`, two words as they
are (`Basic YWxpY2U6…`). With `shape = cloudevents` the content type is
`application/cloudevents+json`; with `cloudevents-binary` the attributes are headers `ce-…`,
percent-encoded, which takes up to 6 KB for a long key: more than some servers allow.

The answer's status decides, once it is there; what follows it does not:

=======================  =======================================================================
2xx                      delivered
400, 413, 415, 422       `Rejected`, with the status and the beginning of the answer's body
401, 407                 `NotAuthorized`; the rest of the batch is not sent
403                      the same, unless other events of the batch got through: a firewall that
                         dislikes one event answers so too, and its neighbours go on
429, 503 + Retry-After   `Throttled`; the rest of the batch is not sent
everything else          `Retryable`. Redirects too: following one would carry the event and the
                         token to a host that nobody configured, and after a 301, 302 or 303 the
                         event would be lost in a GET; so the reason names the new place
no status                `NotConnected` (refused, no such host, TLS, no answer within `timeout`);
                         what is in flight may still arrive, the rest of the batch is not sent
=======================  =======================================================================

Up to `in_flight` requests are under way at once, each over a connection of its own, which is kept
for the next ones; a kept one that the server closed meanwhile is replaced without a failure. So
that a slow endpoint cannot hold a function until it is killed, which would repeat all that had
arrived, no event is sent later than `timeout` after the batch began.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from bucketcast import loops
from bucketcast.errors import NotAuthorized
from bucketcast.event import Event
from bucketcast.options import REFERENCE, Duration, OnOff, Secret, Url, option, options_of
from bucketcast.shapes import ceph
from bucketcast.shapes.cloudevents import in_header
from bucketcast.targets import base
from bucketcast.targets.webhook import curl
from bucketcast.targets.webhook.outcome import Batch, Write, refusal

MOST_IN_FLIGHT = 256
NO_MORE: tuple[int, bytes, list[str]] = (0, b"", [])
LONGEST_TIMEOUT = 300
"""Seconds."""


@dataclass(frozen=True, kw_only=True)
class WebhookSettings(base.Common, base.Tls):
    endpoint: Url = option("where events are posted", example="https://example.org/hook")
    auth_token: Secret = option(
        "what Authorization says: a token, sent as Bearer, or scheme and credentials in two words",
        default="",
    )
    timeout: Duration = option("how long one request may take, from 1ms to 5m", default="10s")
    tls_skip_verify: OnOff = option(
        "take whatever certificate the endpoint shows; for tests only", default="off"
    )
    cloudevents: OnOff = option(
        "with shape = ceph: CloudEvents' attributes beside the record, in headers, as a topic's "
        "cloudevents asks",
        default="off",
    )
    in_flight: int = option(
        f"how many requests are under way at once, 1 to {MOST_IN_FLIGHT}; 1 sends one after the "
        "other",
        default="32",
    )


class Target(base.Target):
    """One endpoint; several threads may use it, one batch at a time."""

    arn_type = "webhook"
    client = "pycurl"
    attributes_prefix = "ce-"
    Settings = WebhookSettings
    settings: WebhookSettings

    def __init__(self, settings: WebhookSettings) -> None:
        super().__init__(settings)
        self._lock = Lock()
        self._open: _Connections | None = None

    @classmethod
    def check(cls, settings: WebhookSettings) -> list[tuple[str, str, str]]:
        return [*_mistakes(settings), *super().check(settings)]

    @classmethod
    def notes(cls, settings: WebhookSettings) -> list[str]:
        notes = [*loops.note("endpoint", settings.endpoint), *super().notes(settings)]
        idle = [key for key in options_of(base.Tls) if getattr(settings, key)]
        if not idle or not settings.endpoint.lower().startswith("http://"):
            return notes
        return [f"{', '.join(idle)}: beside an http:// endpoint they do nothing", *notes]

    @property
    def longest_send(self) -> float:
        """The last request begins `timeout` after the first, and may take as long."""
        return 2 * float(self.settings.timeout)

    @property
    def where(self) -> str:
        return curl.where(self.settings)

    def send(self, events: Sequence[Event]) -> base.Failures:
        with self._lock:
            if self._open is None:
                self._open = _Connections(self.settings)
            try:
                return self._open.send(events, self._written)
            except BaseException:
                self._drop()  # it holds half a batch
                raise

    def headers(self, event: Event) -> dict[str, str]:
        found = {"Content-Type": self.shape.content_type, "webhook-id": event.id}
        beside = super().headers(event)
        if self.settings.cloudevents:
            beside = {f"{self.attributes_prefix}{k}": v for k, v in ceph.attributes(event).items()}
        return found | {name: in_header(text) for name, text in beside.items()}

    def probe(self) -> None:
        _login(self.settings)
        curl.handshake(self.settings)

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _written(self, event: Event) -> tuple[bytes, list[str]]:
        body = self.shape.message(event)
        return body, [f"{name}: {text}" for name, text in self.headers(event).items()]

    def _drop(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


class _Connections:
    """Handles that are used over and over, and the connections that curl keeps for them."""

    def __init__(self, settings: WebhookSettings) -> None:
        import pycurl  # noqa: PLC0415 - only its own function carries it

        self._settings = settings
        authorization = _login(settings)
        self._headers = [f"Authorization: {authorization}"] if authorization else []
        self._multi = pycurl.CurlMulti()
        # Otherwise curl keeps four times what is busy just then: too few when a batch ends.
        self._multi.setopt(pycurl.M_MAXCONNECTS, settings.in_flight)
        self._idle = [curl.Request(settings) for _ in range(settings.in_flight)]
        self._requests = {request.handle: request for request in self._idle}

    def send(self, events: Sequence[Event], write: Write) -> base.Failures:
        batch = Batch(events, write, self._headers, self._settings.timeout)
        multi = self._multi
        while True:
            if batch.goes_on():
                self._start(batch)
            if len(self._idle) == len(self._requests):
                return batch.failures()
            multi.perform()
            _, finished, broken = multi.info_read()
            for handle, *error in broken:
                self._requests[handle].broke = error
                finished.append(handle)
            if finished:
                self._take(batch, finished)
            else:
                wait = multi.timeout()  # ms until curl has something to do by itself, or -1
                multi.select(min(wait, 1000) / 1000 if wait >= 0 else 1.0)

    # What the next two loop over is every event: they call no more than they must.

    def _start(self, batch: Batch) -> None:
        import pycurl  # noqa: PLC0415 - only its own function carries it

        fields, header = pycurl.POSTFIELDS, pycurl.HTTPHEADER
        idle, add = self._idle, self._multi.add_handle
        while idle:
            place, body, headers = next(batch.posts, NO_MORE)
            if not body:
                return
            request = idle.pop()
            request.place = place
            request.body.clear()
            request.setopt(fields, body)
            request.setopt(header, headers)
            add(request.handle)
            batch.started = place + 1

    def _take(self, batch: Batch, finished: Sequence[Any]) -> None:
        import pycurl  # noqa: PLC0415 - only its own function carries it

        status_of = pycurl.RESPONSE_CODE
        settings = self._settings
        requests, idle, remove = self._requests, self._idle, self._multi.remove_handle
        for handle in finished:
            remove(handle)
            request = requests[handle]
            idle.append(request)
            status = request.getinfo(status_of)
            if 200 <= status < 300:  # noqa: PLR2004 - success in HTTP
                batch.delivered = True
            else:
                batch.failed(request.place, refusal(settings, request, status))

    def close(self) -> None:
        self._multi.close()
        for handle in self._requests:
            handle.close()


def _login(settings: WebhookSettings) -> str:
    try:
        return _authorization(settings.auth_token.reveal())
    except ValueError as error:
        raise NotAuthorized(f"auth_token: allowed is {error}") from None


def _mistakes(settings: WebhookSettings) -> Iterator[tuple[str, str, str]]:
    token = settings.auth_token.reveal()
    if not token.startswith(REFERENCE):
        try:
            _authorization(token)
        except ValueError as error:
            yield "auth_token", "found ***", f"allowed is {error}"
    if settings.cloudevents and settings.shape != "ceph":
        yield "cloudevents", f"found beside shape = {settings.shape}", "allowed is shape = ceph"
    if not settings.endpoint.isascii():
        allowed = "allowed is ASCII: %-encoded, and the host in its xn-- form"
        yield "endpoint", f"found {settings.endpoint!r}", allowed
    limits = (("timeout", 0.001, LONGEST_TIMEOUT), ("in_flight", 1, MOST_IN_FLIGHT))
    for name, low, high in limits:
        value = getattr(settings, name)
        if not isinstance(value, str) and not low <= value <= high:  # a reference is still text
            yield name, f"found {value:g}", f"allowed is {low:g} to {high}"


def _authorization(token: str) -> str:
    """What MinIO makes of a token, "" for none; where it would drop the header, ValueError."""
    words = token.split()
    if len(words) > 2 or not (token.strip().isascii() and token.strip().isprintable()):  # noqa: PLR2004
        raise ValueError("one word, or scheme and credentials in two, of printable ASCII")
    return f"Bearer {words[0]}" if len(words) == 1 else " ".join(words)
