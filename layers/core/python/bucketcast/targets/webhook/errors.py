"""Translate responses, and connection errors, into delivery errors with hints."""

import zlib
from typing import Any

import pycurl

from bucketcast.display import redacted_url
from bucketcast.errors import (
    DeliveryError,
    NotAuthorized,
    NotConnected,
    Rejected,
    Retryable,
    Throttled,
    TimedOut,
)
from bucketcast.targets.webhook.guard import Guard
from bucketcast.targets.webhook.settings import WebhookSettings

TOO_LARGE = 413
EVENT_STATUSES = frozenset({400, TOO_LARGE, 415, 422})
LOGIN_STATUSES = frozenset({401, 403, 407})
TOO_MANY = 429
REFUSAL_STATUSES = frozenset({TOO_MANY, 503})
MAX_PAUSE = 900
"""Maximum pause from a Retry-After, in seconds: SQS's maximum delay of a message."""
MAX_BODY_SHOWN = 200
CLOSED = (pycurl.E_RECV_ERROR, pycurl.E_SEND_ERROR, pycurl.E_GOT_NOTHING)
"""curl's codes of a connection that the server closed."""
MAX_BODY = 4096
_ANY_HEADER = zlib.MAX_WBITS | 32
"""Of gzip, or of zlib, which HTTP calls deflate."""


def connection_error(
    settings: WebhookSettings, code: int, message: str, *, guard: Guard | None
) -> NotConnected:
    """Return the error of a request without a response, with a hint."""
    if guard and guard.refusal and code == pycurl.E_COULDNT_CONNECT:
        return NotConnected(f"{redacted_url(settings.endpoint)}: {guard.refusal}")
    hints = {
        pycurl.E_COULDNT_RESOLVE_HOST: "see endpoint, and the function's VPC",
        pycurl.E_COULDNT_CONNECT: "see endpoint, and the function's VPC and security groups",
        pycurl.E_OPERATION_TIMEDOUT: "see timeout",
        pycurl.E_PEER_FAILED_VERIFICATION: "see cert_authority",
        pycurl.E_SSL_CACERT_BADFILE: "see cert_authority",
    }
    encrypted = settings.endpoint.startswith("https:")
    reason = f"{redacted_url(settings.endpoint)}: {message}"
    # TLS 1.3 refuses a client's certificate after the handshake, by an alert or by closing.
    if any(word in message for word in ("alert", "private key")) or (encrypted and code in CLOSED):
        return NotAuthorized(f"{reason} (if it asks for a client's certificate: see client_cert)")
    kind = TimedOut if code == pycurl.E_OPERATION_TIMEDOUT else NotConnected
    return kind(f"{reason} ({hints[code]})" if code in hints else reason)


def refusal(settings: WebhookSettings, handle: Any, status: int, body: bytes) -> DeliveryError:
    """Return the error of an unsuccessful response; `handle` is its `pycurl.Curl`."""
    reason = f"{redacted_url(settings.endpoint)} answered {status}"
    text = _printable(body, settings.auth_token.reveal())
    if excerpt := _excerpt(text):
        reason += f": {excerpt}"
    if status in EVENT_STATUSES:
        error = Rejected.anywhere(reason) if status == TOO_LARGE else Rejected(reason)
        kind = handle.getinfo(pycurl.CONTENT_TYPE) or "-"
        error.answer = f"{status}\ncontent-type: {kind}\n\n{text}"
        return error
    if status in LOGIN_STATUSES:
        return NotAuthorized(f"{reason} (see auth_token)")
    pause = handle.getinfo(pycurl.RETRY_AFTER)
    if status in REFUSAL_STATUSES and pause > 0:
        return Throttled(reason, after=min(pause, MAX_PAUSE))
    if location := handle.getinfo(pycurl.REDIRECT_URL):
        return Retryable(
            f"{reason}: redirects are not followed; set endpoint to {redacted_url(location)}"
        )
    return Retryable(reason)


def _printable(body: bytes, token: str) -> str:
    """Return the lines of a response's body, without the token."""
    text = _decompress(body).decode(errors="replace")
    for secret in token.split()[-1:]:
        text = text.replace(secret, "***")
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


def _decompress(body: bytes) -> bytes:
    """Return the beginning of a body, which may be compressed although nobody asked for that."""
    try:
        return zlib.decompressobj(_ANY_HEADER).decompress(body, MAX_BODY)
    except zlib.error:
        return body


def _excerpt(text: str) -> str:
    """Return the beginning of a text on one line."""
    text = " ".join(text.split())
    return text if len(text) <= MAX_BODY_SHOWN else text[:MAX_BODY_SHOWN] + "…"
