"""HTTP by libcurl: parallel requests over persistent connections, and a check of the endpoint.

TLS is verified, with the host name, unless `tls_skip_verify` is on: with the configured CA, else
with the file in OpenSSL's `SSL_CERT_FILE`, else with the machine's own bundle. Proxies are those of
`https_proxy`, `http_proxy` and `no_proxy`.

Over TLS, HTTP/2 is used where the server offers it: a hundred requests, or as many as the server
allows, share a connection.
"""

import os
import select
import ssl
import time
from collections.abc import Sequence
from typing import Any

import pycurl

from bucketcast import __version__
from bucketcast.errors import DeliveryError
from bucketcast.event import Event
from bucketcast.targets.base import Failures
from bucketcast.targets.webhook.batch import Batch, Encode
from bucketcast.targets.webhook.errors import CLOSED, MAX_BODY, connection_error, refusal
from bucketcast.targets.webhook.guard import guard_sockets
from bucketcast.targets.webhook.limiter import Limiter
from bucketcast.targets.webhook.settings import MAX_IN_FLIGHT, WebhookSettings, login

ALERT_SECONDS = 0.2
"""Seconds to wait for a refusal after the handshake, which TLS 1.3 allows."""


def new_handle(settings: WebhookSettings) -> Any:
    """Return a `pycurl.Curl` for the endpoint, with the options that all requests share."""
    handle = pycurl.Curl()
    milliseconds = _milliseconds(settings.timeout)
    options = {
        pycurl.URL: settings.endpoint,
        pycurl.USERAGENT: f"bucketcast/{__version__}",
        pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
        pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_2TLS,
        pycurl.PIPEWAIT: 1,  # for the first connection to show if it takes several at a time
        pycurl.TIMEOUT_MS: milliseconds,
        pycurl.CONNECTTIMEOUT_MS: milliseconds,
        pycurl.NOSIGNAL: 1,
        pycurl.TCP_NODELAY: 1,
        pycurl.SSL_VERIFYPEER: 0 if settings.tls_skip_verify else 1,
        pycurl.SSL_VERIFYHOST: 0 if settings.tls_skip_verify else 2,
    }
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        options[pycurl.NOPROXY] = "*"  # or curl would search the environment for every request
    if settings.cert_authority:
        options[pycurl.CAINFO_BLOB] = settings.cert_authority
        handle.unsetopt(pycurl.CAPATH)
    elif bundle := ssl.get_default_verify_paths().cafile:
        options[pycurl.CAINFO] = bundle  # pycurl itself does not find every bundle
    if settings.client_cert:
        options[pycurl.SSLCERT_BLOB] = settings.client_cert
        options[pycurl.SSLKEY_BLOB] = settings.client_key.reveal()
    for name, value in options.items():
        handle.setopt(name, value)
    return handle


def _milliseconds(seconds: float) -> int:
    """Return a limit as curl takes it, to which 0 is none."""
    return max(1, round(seconds * 1_000))


class Request:
    """A handle that posts to the endpoint, with the index of its event and the response."""

    def __init__(self, settings: WebhookSettings) -> None:
        self.handle = handle = new_handle(settings)
        self._timeout = float(settings.timeout)
        self.guard = guard_sockets(handle, settings)
        self.setopt, self.getinfo = handle.setopt, handle.getinfo
        self.index = 0
        self.started = 0.0
        self.body = bytearray()
        self.error: Sequence[Any] = ()
        self.is_renewed = False
        self.setopt(pycurl.POST, 1)
        self.setopt(pycurl.WRITEFUNCTION, self._keep_body)

    def _keep_body(self, chunk: bytes) -> None:
        if len(self.body) < MAX_BODY:
            self.body += chunk[:MAX_BODY]

    def renew(self) -> bool:
        """Have it sent over a new connection, if a kept one ended without a response.

        curl itself gives up after five such, and a server that was restarted leaves a hundred. It
        has the rest of its time. Streams of one connection that ended share the next one.
        """
        code, left = self.error[0], self.started + self._timeout - time.monotonic()
        is_new = self.is_renewed or self.getinfo(pycurl.NUM_CONNECTS)
        if is_new or code not in (*CLOSED, pycurl.E_HTTP2) or left <= 0:
            return False
        self.is_renewed = True
        self.setopt(pycurl.FRESH_CONNECT, int(code in CLOSED))
        self.setopt(pycurl.TIMEOUT_MS, _milliseconds(left))
        return True

    def reset(self) -> None:
        """Forget the response."""
        self.body.clear()
        if self.is_renewed:
            self.is_renewed = False
            self.setopt(pycurl.FRESH_CONNECT, 0)
            self.setopt(pycurl.TIMEOUT_MS, _milliseconds(self._timeout))

    def failure(self, settings: WebhookSettings, status: int) -> DeliveryError:
        """Return the reason why the event did not arrive; below 200 there was no response."""
        if status < 200:  # noqa: PLR2004 - responses begin there
            return connection_error(settings, *self.error, guard=self.guard)
        return refusal(settings, self.handle, status, bytes(self.body))


def handshake(settings: WebhookSettings) -> None:
    """Connect, with TLS, and send nothing.

    Raises:
        NotConnected: it was not possible, or the server closed the connection at once.
    """
    with new_handle(settings) as handle:
        guard = guard_sockets(handle, settings)
        handle.setopt(pycurl.CONNECT_ONLY, 1)
        try:
            handle.perform()
            if select.select([handle.getinfo(pycurl.ACTIVESOCKET)], (), (), ALERT_SECONDS)[0]:
                handle.recv(1)
        except BlockingIOError:
            return
        except pycurl.error as error:
            raise connection_error(settings, *error.args, guard=guard) from None


class Client:
    """Reused handles, the connections that curl keeps for them, and how many may be busy."""

    def __init__(self, settings: WebhookSettings, content_type: str) -> None:
        self._settings = settings
        self._headers = [f"Content-Type: {content_type}"]
        token, self._signer = login(settings)
        if token:
            self._headers.append(f"Authorization: {token}")
        # Each takes up to 0.15 MB: a function that outgrows its memory is killed.
        memory = int(os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", MAX_IN_FLIGHT))
        self._limiter = Limiter(min(settings.in_flight, memory))
        self._multi = pycurl.CurlMulti()
        # curl's default, four times the busy connections, is too few at the end of a batch.
        self._multi.setopt(pycurl.M_MAXCONNECTS, settings.in_flight)
        self._idle: list[Request] = []
        self._requests: dict[Any, Request] = {}
        self._is_open = True

    def send(self, events: Sequence[Event], encode: Encode) -> Failures:
        if self in _resting:
            _resting.remove(self)
        try:
            return self._send(events, encode)
        finally:
            _resting.append(self)

    def _send(self, events: Sequence[Event], encode: Encode) -> Failures:
        seconds = self._settings.timeout
        batch = Batch(events, encode, self._headers, seconds, self._signer, self._limiter)
        multi = self._multi
        while True:
            limit = self._limiter.limit
            self._start(batch, limit - len(self._requests) + len(self._idle))
            busy = len(self._requests) - len(self._idle)
            if not busy:
                return batch.failures()
            multi.perform()
            _, finished, broken = multi.info_read(busy)
            for handle, *error in broken:
                self._requests[handle].error = error
                finished.append(handle)
            if finished:
                self._finish(batch, finished, full=busy >= limit)
            else:
                wait = multi.timeout()  # ms until curl must act by itself, or -1
                multi.select(min(wait, 1000) / 1000 if wait >= 0 else 1.0)

    # The next two methods loop over every event, so they make as few calls as possible.

    def _start(self, batch: Batch, count: int) -> None:
        fields, header = pycurl.POSTFIELDS, pycurl.HTTPHEADER
        idle, add = self._idle, self._multi.add_handle
        now = time.monotonic()
        for index, body, headers in batch.take(count, now):
            request = idle.pop() if idle else self._new_request()
            request.index, request.started = index, now
            request.setopt(fields, body)
            request.setopt(header, headers)
            add(request.handle)

    def _finish(self, batch: Batch, finished: Sequence[Any], *, full: bool) -> None:
        status_of = pycurl.RESPONSE_CODE
        requests, idle, remove = self._requests, self._idle, self._multi.remove_handle
        now = time.monotonic()
        delivered: list[int] = []
        latencies: list[float] = []
        for handle in finished:
            remove(handle)
            request = requests[handle]
            status = request.getinfo(status_of)
            if not status and request.renew():
                self._multi.add_handle(handle)
                continue
            idle.append(request)
            if 200 <= status < 300:  # noqa: PLR2004 - success in HTTP
                delivered.append(request.index)
                latencies.append(now - request.started)
            else:
                batch.fail(request.index, status, request.failure(self._settings, status))
            if request.body or request.is_renewed:
                request.reset()
        if delivered:
            batch.succeed(delivered)
            self._limiter.record_success(latencies, full=full)

    def _new_request(self) -> Request:
        while _resting and sum(len(each._requests) for each in (self, *_resting)) >= MAX_IN_FLIGHT:  # noqa: SLF001 - its own class
            _resting[0].close()
        request = Request(self._settings)
        self._requests[request.handle] = request
        return request

    def is_usable(self) -> bool:
        """Return False if another target needed its sockets."""
        return self._is_open

    def close(self) -> None:
        self._is_open = False
        if self in _resting:
            _resting.remove(self)
        self._multi.close()
        for handle in self._requests:
            handle.close()


_resting: list[Client] = []
"""Those that send nothing now, the one not used for longest first: a function for many targets
closes their connections when it needs more."""
