"""What an answer or the lack of one means, as an error that says what to do."""

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

ABOUT_THE_EVENT = frozenset({400, 413, 415, 422})
ABOUT_THE_LOGIN = frozenset({401, 403, 407})
ASKS_FOR_A_PAUSE = frozenset({429, 503})
LONGEST_PAUSE = 900
"""Seconds of a Retry-After that are believed: as long as SQS delays a message."""
BODY_SHOWN = 200


def connection_error(
    settings: WebhookSettings, code: int, text: str, *, guard: Guard | None
) -> NotConnected:
    """Return what curl says went wrong before there was an answer, and what to look at."""
    if guard and guard.refused and code == pycurl.E_COULDNT_CONNECT:
        return NotConnected(f"{redacted_url(settings.endpoint)}: {guard.refused}")
    hints = {
        pycurl.E_COULDNT_RESOLVE_HOST: "see endpoint, and the function's VPC",
        pycurl.E_COULDNT_CONNECT: "see endpoint, and the function's VPC and security groups",
        pycurl.E_OPERATION_TIMEDOUT: "see timeout",
        pycurl.E_PEER_FAILED_VERIFICATION: "see cert_authority",
        pycurl.E_SSL_CACERT_BADFILE: "see cert_authority",
    }
    dropped = (pycurl.E_RECV_ERROR, pycurl.E_SEND_ERROR, pycurl.E_GOT_NOTHING)
    encrypted = settings.endpoint.startswith("https:")
    reason = f"{redacted_url(settings.endpoint)}: {text}"
    # TLS 1.3 refuses a client's certificate only after the handshake, by an alert or a hang-up.
    if any(word in text for word in ("alert", "private key")) or (encrypted and code in dropped):
        return NotAuthorized(f"{reason} (if it asks for a client's certificate: see client_cert)")
    kind = TimedOut if code == pycurl.E_OPERATION_TIMEDOUT else NotConnected
    return kind(f"{reason} ({hints[code]})" if code in hints else reason)


def refusal(settings: WebhookSettings, handle: Any, status: int, body: bytes) -> DeliveryError:
    """Return what an answer means that is no success; `handle` is the `pycurl.Curl` that has it."""
    reason = f"{redacted_url(settings.endpoint)} answered {status}"
    if text := _shown(body, settings.auth_token.reveal()):
        reason += f": {text}"
    if status in ABOUT_THE_EVENT:
        return Rejected(reason)
    if status in ABOUT_THE_LOGIN:
        return NotAuthorized(f"{reason} (see auth_token)")
    pause = handle.getinfo(pycurl.RETRY_AFTER)
    if status in ASKS_FOR_A_PAUSE and pause > 0:
        return Throttled(reason, after=min(pause, LONGEST_PAUSE))
    if location := handle.getinfo(pycurl.REDIRECT_URL):
        return Retryable(
            f"{reason}: redirects are not followed; set endpoint to {redacted_url(location)}"
        )
    return Retryable(reason)


def _shown(body: bytes, token: str) -> str:
    """Return the beginning of an answer's body on one line, without the token if it came back."""
    text = body.decode(errors="replace")
    for secret in token.split()[-1:]:
        text = text.replace(secret, "***")
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= BODY_SHOWN else text[:BODY_SHOWN] + "…"
