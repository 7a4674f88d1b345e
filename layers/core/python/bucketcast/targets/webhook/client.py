"""HTTP by libcurl: parallel requests over persistent connections, and a check of the endpoint.

TLS is verified, with the host name, unless `tls_skip_verify` is on: with the configured CA, else
with the file in OpenSSL's `SSL_CERT_FILE`, else with the machine's own bundle. Proxies are those of
`https_proxy`, `http_proxy` and `no_proxy`.
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
from bucketcast.targets.webhook.batch import Batch, Encode
from bucketcast.targets.webhook.errors import connection_error, refusal
from bucketcast.targets.webhook.guard import guard_sockets
from bucketcast.targets.webhook.settings import WebhookSettings, authorization
from bucketcast.targets.webhook.signature import Signer

MAX_BODY = 4096
NO_POST: tuple[int, bytes, list[str]] = (0, b"", [])
ALERT_SECONDS = 0.2
"""Seconds to wait for a refusal after the handshake, which TLS 1.3 allows."""


def new_handle(settings: WebhookSettings) -> Any:
    """Return a `pycurl.Curl` for the endpoint, with the options that all requests share."""
    handle = pycurl.Curl()
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
        handle.unsetopt(pycurl.CAPATH)
    elif bundle := ssl.get_default_verify_paths().cafile:
        options[pycurl.CAINFO] = bundle  # pycurl itself does not find every bundle
    if settings.client_cert:
        options[pycurl.SSLCERT_BLOB] = settings.client_cert
        options[pycurl.SSLKEY_BLOB] = settings.client_key.reveal()
    for name, value in options.items():
        handle.setopt(name, value)
    return handle


class Request:
    """A handle that posts to the endpoint, with the index of its event and the response."""

    def __init__(self, settings: WebhookSettings) -> None:
        self.handle = handle = new_handle(settings)
        self.guard = guard_sockets(handle, settings)
        self.setopt, self.getinfo = handle.setopt, handle.getinfo
        self.index = 0
        self.body = bytearray()
        self.error: Sequence[Any] = ()
        self.setopt(pycurl.POST, 1)
        self.setopt(pycurl.WRITEFUNCTION, self._keep_body)

    def _keep_body(self, chunk: bytes) -> None:
        if len(self.body) < MAX_BODY:
            self.body += chunk[:MAX_BODY]

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
    """Reused handles, and the connections that curl keeps for them."""

    def __init__(self, settings: WebhookSettings) -> None:
        self._settings = settings
        authorization = login(settings)
        self._headers = [f"Authorization: {authorization}"] if authorization else []
        self._signer = make_signer(settings)
        self._multi = pycurl.CurlMulti()
        # curl's default, four times the busy connections, is too few at the end of a batch.
        self._multi.setopt(pycurl.M_MAXCONNECTS, settings.in_flight)
        self._idle = [Request(settings) for _ in range(settings.in_flight)]
        self._requests = {request.handle: request for request in self._idle}

    def send(self, events: Sequence[Event], encode: Encode) -> Failures:
        batch = Batch(events, encode, self._headers, self._settings.timeout, self._signer)
        multi = self._multi
        while True:
            if batch.may_continue():
                self._start(batch)
            if len(self._idle) == len(self._requests):
                return batch.failures()
            multi.perform()
            _, finished, broken = multi.info_read()
            for handle, *error in broken:
                self._requests[handle].error = error
                finished.append(handle)
            if finished:
                self._finish(batch, finished)
            else:
                wait = multi.timeout()  # ms until curl must act by itself, or -1
                multi.select(min(wait, 1000) / 1000 if wait >= 0 else 1.0)

    # The next two methods loop over every event, so they make as few calls as possible.

    def _start(self, batch: Batch) -> None:
        fields, header = pycurl.POSTFIELDS, pycurl.HTTPHEADER
        idle, add = self._idle, self._multi.add_handle
        while idle:
            index, body, headers = next(batch.posts, NO_POST)
            if not body:
                return
            request = idle.pop()
            request.index = index
            request.body.clear()
            request.setopt(fields, body)
            request.setopt(header, headers)
            add(request.handle)
            batch.started = index + 1

    def _finish(self, batch: Batch, finished: Sequence[Any]) -> None:
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
                batch.fail(request.index, request.failure(settings, status))

    def close(self) -> None:
        self._multi.close()
        for handle in self._requests:
            handle.close()


def login(settings: WebhookSettings) -> str:
    """Return the Authorization header, "" for none.

    Raises:
        NotAuthorized: the token cannot be sent.
    """
    try:
        return authorization(settings.auth_token.reveal())
    except ValueError as error:
        raise NotAuthorized(f"auth_token: allowed is {error}") from None


def make_signer(settings: WebhookSettings) -> Signer:
    """Return the signer of the requests.

    Raises:
        NotAuthorized: a key is malformed.
    """
    try:
        return Signer(settings.signing_secret.reveal())
    except ValueError as error:
        raise NotAuthorized(f"signing_secret: allowed are {error}") from None
