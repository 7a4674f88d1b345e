"""Errors of nsqd and of the connection as delivery errors, with hints."""

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Retryable, TimedOut


class Refused(Exception):
    """An error of nsqd: a code and a text, such as `E_BAD_TOPIC PUB topic name "" is not valid`."""


RAISED = (Refused, OSError)
"""The errors that a connection raises."""
_LOGIN = ("E_AUTH_FAILED", "E_AUTH_FIRST", "E_UNAUTHORIZED")
_HINTS = {
    "E_AUTH_FAILED": "set auth_secret to one that nsqd's --auth-http-address knows, and check that "
    "nsqd reaches it",
    "E_AUTH_FIRST": "nsqd requires auth_secret",
    "E_UNAUTHORIZED": "auth_secret needs the permission publish for the topic",
    "E_BAD_TOPIC": "set topic to a name that nsqd accepts",
    "TLS required": "set tls = on",
    "offers no TLS": "start it with --tls-cert and --tls-key, or set tls = off",
    "CERTIFICATE_VERIFY_FAILED": "set cert_authority to the authority that signed nsqd's "
    "certificate, and nsqd_address to a name in it",
    " alert ": "nsqd requires a client certificate of an authority that it trusts: client_cert and "
    "client_key",
    "NSQ's protocol": "nsqd_address must be nsqd's TCP address (4150), not that of HTTP (4151)",
    "timed out": "is nsqd_address right, and does its network let this function in?",
    "refused": "is nsqd_address right, and does nsqd run?",
}
"""Hints by a word of the error's text."""


def delivery_error(error: Exception, where: str) -> DeliveryError:
    """Return the delivery error for an error of the client."""
    message = str(error)
    hint = next((_HINTS[word] for word in _HINTS if word in message), "")
    reason = f"{where}: {message}"
    if message.startswith(_LOGIN) or " alert " in message:
        return NotAuthorized.hinted(reason, hint)
    if isinstance(error, Refused) and "TLS required" not in message:
        return Retryable.hinted(reason, hint)
    kind = TimedOut if isinstance(error, TimeoutError) else NotConnected
    return kind.hinted(reason, hint)
