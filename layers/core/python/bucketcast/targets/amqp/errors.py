"""Errors of a connection as delivery errors, with hints."""

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
    "to a name in the certificate"
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
"""A word of the error's text, the kind of delivery error, and the hint."""
_too_large = re.compile(r"message size \d+ .*max size (\d+)").search


def delivery_error(
    error: Exception, address: Address, *, connecting: bool = False
) -> DeliveryError:
    """Return the delivery error for an error of the client; `connecting` adds hints for that."""
    reason = " ".join(str(error).split()) or type(error).__name__
    known = ((kind, hint) for word, kind, hint in _HINTS if word in reason)
    kind, hint = next(known, (NotConnected, ""))
    if isinstance(error, BlockedError):
        kind, hint = Retryable, "it confirms the messages that it already has when it continues"
    elif isinstance(error, ClosedError) and error.channel_only and kind is NotConnected:
        kind = Retryable
    elif isinstance(error, TimeoutError):
        kind, reason = TimedOut, "no answer in time"
    if connecting and not hint:
        hint = _connecting_hint(error, address)
    return kind.hinted(f"{address}: {reason}", hint, ": ")


def _connecting_hint(error: Exception, address: Address) -> str:
    if isinstance(error, TimeoutError):
        return "is the host in url right, and does its network let this function in?"
    disconnected = isinstance(error, ConnectionError | ssl.SSLError)
    if not disconnected or isinstance(error, ConnectionRefusedError):
        return ""
    if address.encrypted:
        return "does the broker want a client certificate (client_cert, client_key)?"
    return "does the port in url suit its scheme?"


def is_missing(error: Exception) -> bool:
    """Return True if the exchange does not exist."""
    return "no exchange" in str(error)


def largest_message(error: Exception) -> int | None:
    """Return the broker's limit in bytes, if the error says that a message exceeded it."""
    match = _too_large(str(error))
    return int(match[1]) if match else None
