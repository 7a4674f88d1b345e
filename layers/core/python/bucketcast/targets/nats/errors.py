"""What nats-py raises, as an error that says what to do."""

from nats import errors

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Retryable, TimedOut
from bucketcast.targets.nats.settings import NatsSettings

RAISED = (errors.Error, OSError, TimeoutError, DeliveryError)
"""All that a publisher raises."""

_FORBIDDEN = "permissions violation"
_ABOUT_THE_LOGIN = ("authorization", "authentication", " alert ")
"""By an alert TLS says that it refuses the client's certificate."""
_HINTS = {
    _FORBIDDEN: "grant it to the user",
    "authorization violation": "token, username with password, nkey_seed or user_credentials must "
    "be one that the server knows",
    "secure connection not available": "this server does not encrypt: let it, or leave out tls "
    "with its certificates",
    "certificate_verify_failed": "set cert_authority to the authority that signed the server's "
    "certificate, and address to a name that stands in it",
    "wrong_version_number": "the server does not begin with TLS: leave out tls_handshake_first",
    "alert unknown ca": "client_cert must be a certificate of an authority that the server trusts",
    "certificate required": "the server wants a client certificate: client_cert with client_key",
    "expecting info": "is this a NATS server?",
}
"""What to do, by a word of the answer in lower case."""
_NOT_LET_IN = "does the server want a client certificate, or another one than client_cert?"
_NO_WORD = (
    "is the address right, does its network let this function in, and does the server want "
    "tls_handshake_first = on?"
)


def delivery_error(
    error: Exception, settings: NatsSettings, where: str, *, connecting: bool
) -> DeliveryError:
    """Return the error; while `connecting` the server has not let this client in yet."""
    if isinstance(error, DeliveryError):
        return error
    found = str(error) or type(error).__name__
    low = found.lower()
    hint = next((hint for word, hint in _HINTS.items() if word in low), "")
    if isinstance(error, TimeoutError):
        hint = _NO_WORD if connecting else ""
        return TimedOut.hinted(f"{where}: no answer in time", hint)
    if isinstance(error, ConnectionError | errors.UnexpectedEOF) and connecting:
        hint = _NOT_LET_IN if settings.encrypted else hint
    reason = f"{where}: {found}"
    if _FORBIDDEN in low:
        return Retryable.hinted(reason, hint)
    if any(word in low for word in _ABOUT_THE_LOGIN):
        return NotAuthorized.hinted(reason, hint)
    return NotConnected.hinted(reason, hint)
