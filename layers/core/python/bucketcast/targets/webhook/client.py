"""HTTP by libcurl: many requests at once over kept connections, and a look at the endpoint.

TLS is verified, the host name too, unless `tls_skip_verify` is on: against the CA given, else
against what OpenSSL's `SSL_CERT_FILE` names, else against the machine's own bundle. Proxies are
those of `https_proxy`, `http_proxy` and `no_proxy`.
"""

import os
import select
import ssl
from collections.abc import Sequence
from typing import Any

import pycurl

from bucketcast import __version__
from bucketcast.errors import DeliveryError, NotAuthorized
from bucketcast.event import Event
from bucketcast.targets.base import Failures
from bucketcast.targets.webhook.batch import Batch, Write
from bucketcast.targets.webhook.errors import connection_error, refusal
from bucketcast.targets.webhook.guard import watch
from bucketcast.targets.webhook.settings import WebhookSettings, authorization
from bucketcast.targets.webhook.signature import Signer

BODY_KEPT = 4096
NO_MORE: tuple[int, bytes, list[str]] = (0, b"", [])
LATE_ALERT = 0.2
"""Seconds that a server gets to refuse us after the handshake, as TLS 1.3 does."""


def handle(settings: WebhookSettings) -> Any:
    """Return a `pycurl.Curl` for the endpoint, with all that no request changes."""
    made = pycurl.Curl()
    milliseconds = max(1, round(settings.timeout * 1000))
    options = {
        pycurl.URL: settings.endpoint,
        pycurl.USERAGENT: f"bucketcast/{__version__}",
        pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
        pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_1_1,
        pycurl.TIMEOUT_MS: milliseconds,
        pycurl.CONNECTTIMEOUT_MS: milliseconds,
        pycurl.NOSIGNAL: 1,
        pycurl.TCP_NODELAY: 1,
        pycurl.SSL_VERIFYPEER: 0 if settings.tls_skip_verify else 1,
        pycurl.SSL_VERIFYHOST: 0 if settings.tls_skip_verify else 2,
    }
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        options[pycurl.PROXY] = ""  # or curl would search the environment for every request
    if settings.cert_authority:
        options[pycurl.CAINFO_BLOB] = settings.cert_authority
        made.unsetopt(pycurl.CAPATH)
    elif bundle := ssl.get_default_verify_paths().cafile:
        options[pycurl.CAINFO] = bundle  # pycurl itself looks in some places only
    if settings.client_cert:
        options[pycurl.SSLCERT_BLOB] = settings.client_cert
        options[pycurl.SSLKEY_BLOB] = settings.client_key.reveal()
    for name, value in options.items():
        made.setopt(name, value)
    return made


class Request:
    """A handle that posts to the endpoint, the event that it carries, and what came back."""

    def __init__(self, settings: WebhookSettings) -> None:
        self.handle = made = handle(settings)
        self.guard = watch(made, settings)
        self.setopt, self.getinfo = made.setopt, made.getinfo
        self.index = 0
        self.body = bytearray()
        self.broke: Sequence[Any] = ()
        self.setopt(pycurl.POST, 1)
        self.setopt(pycurl.WRITEFUNCTION, self._read)

    def _read(self, chunk: bytes) -> None:
        if len(self.body) < BODY_KEPT:
            self.body += chunk[:BODY_KEPT]

    def failure(self, settings: WebhookSettings, status: int) -> DeliveryError:
        """Return why the event did not arrive; below 200 there was no answer."""
        if status < 200:  # noqa: PLR2004 - answers begin there
            return connection_error(settings, *self.broke, guard=self.guard)
        return refusal(settings, self.handle, status, bytes(self.body))


def handshake(settings: WebhookSettings) -> None:
    """Connect, TLS included, and send nothing.

    Raises:
        NotConnected: it was not possible, or the server dropped us at once.
    """
    with handle(settings) as trial:
        guard = watch(trial, settings)
        trial.setopt(pycurl.CONNECT_ONLY, 1)
        try:
            trial.perform()
            if select.select([trial.getinfo(pycurl.ACTIVESOCKET)], (), (), LATE_ALERT)[0]:
                trial.recv(1)
        except BlockingIOError:
            return
        except pycurl.error as error:
            raise connection_error(settings, *error.args, guard=guard) from None


class Client:
    """Handles that are used over and over, and the connections that curl keeps for them."""

    def __init__(self, settings: WebhookSettings) -> None:
        self._settings = settings
        authorization = login(settings)
        self._headers = [f"Authorization: {authorization}"] if authorization else []
        self._signer = signer(settings)
        self._multi = pycurl.CurlMulti()
        # Otherwise curl keeps four times what is busy just then: too few when a batch ends.
        self._multi.setopt(pycurl.M_MAXCONNECTS, settings.in_flight)
        self._idle = [Request(settings) for _ in range(settings.in_flight)]
        self._requests = {request.handle: request for request in self._idle}

    def send(self, events: Sequence[Event], write: Write) -> Failures:
        batch = Batch(events, write, self._headers, self._settings.timeout, self._signer)
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
        fields, header = pycurl.POSTFIELDS, pycurl.HTTPHEADER
        idle, add = self._idle, self._multi.add_handle
        while idle:
            index, body, headers = next(batch.posts, NO_MORE)
            if not body:
                return
            request = idle.pop()
            request.index = index
            request.body.clear()
            request.setopt(fields, body)
            request.setopt(header, headers)
            add(request.handle)
            batch.started = index + 1

    def _take(self, batch: Batch, finished: Sequence[Any]) -> None:
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
                batch.failed(request.index, request.failure(settings, status))

    def close(self) -> None:
        self._multi.close()
        for handle in self._requests:
            handle.close()


def login(settings: WebhookSettings) -> str:
    """Return what Authorization says, "" for nothing."""
    try:
        return authorization(settings.auth_token.reveal())
    except ValueError as error:
        raise NotAuthorized(f"auth_token: allowed is {error}") from None


def signer(settings: WebhookSettings) -> Signer:
    """Return what signs the requests."""
    try:
        return Signer(settings.signing_secret.reveal())
    except ValueError as error:
        raise NotAuthorized(f"signing_secret: allowed are {error}") from None
