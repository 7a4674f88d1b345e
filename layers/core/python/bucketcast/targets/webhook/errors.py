"""Translate responses, and connection errors, into delivery errors with hints."""

import zlib
from typing import Any

import pycurl

from bucketcast.display import redacted_url
from bucketcast.errors import DeliveryError, NotConnected, Throttled
from bucketcast.limits import LONGEST_DELAY_SECONDS
from bucketcast.targets.webhook.answers import ANSWERS
from bucketcast.targets.webhook.guard import Guard
from bucketcast.targets.webhook.settings import WebhookSettings

TOO_MANY = 429
REFUSAL_STATUSES = frozenset({TOO_MANY, 503})
MAX_BODY_SHOWN = 200
CLOSED = (pycurl.E_RECV_ERROR, pycurl.E_SEND_ERROR, pycurl.E_GOT_NOTHING)
"""curl's codes of a connection that the server closed."""
ONE_STREAM = 92
"""curl's code of one request that an HTTP/2 server ended: the others go on."""
MAX_BODY = 4096
_ANY_HEADER = zlib.MAX_WBITS | 32
"""Of gzip, or of zlib, which HTTP calls deflate."""


def connection_error(
    settings: WebhookSettings, code: int, message: str, *, guard: Guard | None
) -> DeliveryError:
    """Return the error of a request without a response, with a hint."""
    where = redacted_url(settings.endpoint)
    if guard and guard.refusal and code == pycurl.E_COULDNT_CONNECT:
        return NotConnected(f"{where}: {guard.refusal}")
    is_closed = code in CLOSED and settings.endpoint.startswith("https:")
    return ANSWERS.error(
        where,
        message or "the connection ended",
        ["closed" if is_closed else str(code)],
        connecting=code != ONE_STREAM,
    )


def refusal(settings: WebhookSettings, handle: Any, status: int, body: bytes) -> DeliveryError:
    """Return the error of an unsuccessful response; `handle` is its `pycurl.Curl`."""
    text = _printable(body, settings.auth_token.reveal())
    pause = handle.getinfo(pycurl.RETRY_AFTER)
    asks_for_pause = status in REFUSAL_STATUSES and pause > 0
    location = redacted_url(handle.getinfo(pycurl.REDIRECT_URL) or settings.endpoint)
    error = ANSWERS.error(
        f"{redacted_url(settings.endpoint)} answered {status}",
        _excerpt(text) or "without a text",
        ["Retry-After" if asks_for_pause else str(status)],
        location=location,
    )
    if isinstance(error, Throttled):
        error.after = min(pause, LONGEST_DELAY_SECONDS)
    if error.alone:
        kind = (handle.getinfo_raw(pycurl.CONTENT_TYPE) or b"-").decode(errors="replace")
        error.answer = f"{status}\ncontent-type: {kind}\n\n{text}"
    return error


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
