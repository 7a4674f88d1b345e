"""What went wrong with a connection, as an error that says what to do."""

import re
import ssl

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Retryable, TimedOut
from bucketcast.targets.amqp.address import Address
from bucketcast.targets.amqp.client import BlockedError, ClosedError

_RIGHTS = "the user needs to write to the exchange, and with exchange_type to configure it too"
_FITS = (
    "set exchange_type, durable and auto_deleted as the exchange has them, or leave exchange_type "
    "empty to take it as it is"
)
_TRUST = (
    "set cert_authority to the authority that signed the broker's certificate, and the host in url "
    "to a name that stands in it"
)
_HINTS: tuple[tuple[str, type[DeliveryError], str], ...] = (
    ("mechanism EXTERNAL", NotAuthorized, "the broker must know the user that client_cert names"),
    ("Login was refused", NotAuthorized, "see user and password in url"),
    ("internal exchange", Retryable, "only other exchanges may publish there: name another"),
    ("reserved prefix", Retryable, "name another exchange, or leave exchange_type empty"),
    ("access to vhost", NotAuthorized, "let the user into it, or name another as the path of url"),
    ("refused for user", NotAuthorized, _RIGHTS),
    ("ACCESS_REFUSED", NotAuthorized, "see the user in url, and what it may do"),
    ("no exchange", Retryable, "make it, or set exchange_type, and it is made"),
    ("inequivalent arg", Retryable, _FITS),
    ("exchange type", Retryable, "set exchange_type to one that the broker has"),
    (
        "NOT_ALLOWED - vhost",
        NotConnected,
        "make the virtual host, or name another as the path of url",
    ),
    ("CERTIFICATE_VERIFY_FAILED", NotConnected, _TRUST),
    (" alert ", NotAuthorized, "the broker wants a client_cert of an authority that it trusts"),
    ("WRONG_VERSION_NUMBER", NotConnected, "does the port in url suit its scheme?"),
    ("else than AMQP", NotConnected, "does the port in url suit its scheme?"),
)
"""By a word of what was said: what it means, and its hint."""
_too_large = re.compile(r"message size \d+ .*max size (\d+)").search


def delivery_error(error: Exception, address: Address, *, opening: bool = False) -> DeliveryError:
    """Return what the client raised as a delivery error; `opening` while it connects."""
    said = " ".join(str(error).split()) or type(error).__name__
    known = ((kind, hint) for word, kind, hint in _HINTS if word in said)
    kind, hint = next(known, (NotConnected, ""))
    if isinstance(error, BlockedError):
        kind, hint = Retryable, "what it has of them is confirmed when it goes on"
    elif isinstance(error, ClosedError) and not error.whole and kind is NotConnected:
        kind = Retryable
    elif isinstance(error, TimeoutError):
        kind, said = TimedOut, "no answer in time"
    if opening and not hint:
        hint = _while_opening(error, address)
    return kind.hinted(f"{address}: {said}", hint, ": ")


def _while_opening(error: Exception, address: Address) -> str:
    if isinstance(error, TimeoutError):
        return "is the host in url right, and does its network let this function in?"
    hung_up = isinstance(error, ConnectionError | ssl.SSLError)
    if not hung_up or isinstance(error, ConnectionRefusedError):
        return ""
    if address.encrypted:
        return "does the broker want a client certificate (client_cert, client_key)?"
    return "does the port in url suit its scheme?"


def is_missing(error: Exception) -> bool:
    """Return whether there is no such exchange."""
    return "no exchange" in str(error)


def largest_message(error: Exception) -> int | None:
    """Return the broker's limit in bytes if the error says that a message was larger."""
    found = _too_large(str(error))
    return int(found[1]) if found else None
