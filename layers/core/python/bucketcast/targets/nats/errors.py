"""Errors of nats-py as delivery errors, with hints."""

from nats import errors

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Retryable, TimedOut
from bucketcast.targets.nats.settings import NatsSettings

RAISED = (errors.Error, OSError, TimeoutError, DeliveryError)
"""The errors that a publisher raises."""

_FORBIDDEN = "permissions violation"
_LOGIN_ERRORS = ("authorization", "authentication", " alert ")
"""Words of errors of the login; with an alert TLS refuses the client's certificate."""
_HINTS = {
    _FORBIDDEN: "grant it to the user",
    "authorization violation": "token, username with password, nkey_seed or user_credentials must "
    "be one that the server knows",
    "secure connection not available": "this server does not encrypt: enable TLS there, or leave "
    "out tls and the certificates",
    "certificate_verify_failed": "set cert_authority to the authority that signed the server's "
    "certificate, and address to a name in it",
    "wrong_version_number": "the server does not start with TLS: leave out tls_handshake_first",
    "alert unknown ca": "client_cert must be a certificate of an authority that the server trusts",
    "certificate required": "the server requires a client certificate: client_cert with client_key",
    "expecting info": "is this a NATS server?",
}
"""Hints by a word of the error's text in lower case."""
_CLOSED_HINT = "does the server want a client certificate, or another one than client_cert?"
_TIMEOUT_HINT = (
    "is the address right, does its network let this function in, and does the server want "
    "tls_handshake_first = on?"
)


def delivery_error(
    error: Exception, settings: NatsSettings, where: str, *, connecting: bool
) -> DeliveryError:
    """Return the delivery error for an error of a publisher; `connecting` adds hints for that."""
    if isinstance(error, DeliveryError):
        return error
    message = str(error) or type(error).__name__
    lower = message.lower()
    hint = next((hint for word, hint in _HINTS.items() if word in lower), "")
    if isinstance(error, TimeoutError):
        hint = _TIMEOUT_HINT if connecting else ""
        return TimedOut.hinted(f"{where}: no answer in time", hint)
    if isinstance(error, ConnectionError | errors.UnexpectedEOF) and connecting:
        hint = _CLOSED_HINT if settings.encrypted else hint
    reason = f"{where}: {message}"
    if _FORBIDDEN in lower:
        return Retryable.hinted(reason, hint)
    if any(word in lower for word in _LOGIN_ERRORS):
        return NotAuthorized.hinted(reason, hint)
    return NotConnected.hinted(reason, hint)
