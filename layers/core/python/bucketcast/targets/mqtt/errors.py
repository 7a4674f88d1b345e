"""Refusals of the broker and errors of the connection as delivery errors, with hints."""

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Retryable, TimedOut
from bucketcast.targets.base import iam
from bucketcast.targets.mqtt.client import ConnectionClosedError, Refused
from bucketcast.targets.mqtt.protocol import HandshakeError, Malformed

RAISED = (OSError, Malformed, Refused, HandshakeError)
"""The errors that a connection raises."""
_NAMES = {
    0x80: "unspecified error",
    0x81: "malformed packet",
    0x82: "protocol error",
    0x83: "implementation specific error",
    0x84: "unsupported protocol version",
    0x85: "client id not valid",
    0x86: "bad user name or password",
    0x87: "not authorised",
    0x88: "server unavailable",
    0x89: "server busy",
    0x8A: "banned",
    0x8B: "server shutting down",
    0x8C: "bad authentication method",
    0x8D: "keep-alive timeout",
    0x8E: "session taken over by a client with the same id",
    0x90: "topic name not valid",
    0x91: "packet id in use",
    0x92: "packet id not found",
    0x93: "receive maximum exceeded",
    0x95: "packet too large",
    0x96: "message rate too high",
    0x97: "quota exceeded",
    0x98: "administrative action",
    0x99: "payload format not valid",
    0x9B: "quality of service not supported",
    0x9C: "use another server",
    0x9D: "server moved",
    0x9F: "connection rate exceeded",
}
"""The reason codes of MQTT 5 that a publisher can receive."""
_LOGIN_CODES = frozenset({0x86, 0x87, 0x8A, 0x8C})
_LOGIN = "see username and password, and whether the broker lets this user in with this client_id"
_HINTS = {
    0x84: "set version to one that the broker knows",
    0x85: "set client_id to a prefix that the broker accepts",
    0x86: _LOGIN,
    0x87: _LOGIN,
    0x8E: "does another client use this client_id?",
    0x90: "set topic to one that the broker accepts",
    0x95: "raise the broker's largest packet",
    0x9B: "set qos to one that the broker accepts",
    0x9C: "set broker to that server",
    0x9D: "set broker to that server",
}
_SCHEME = "does the broker's scheme suit its port?"
_HINTS_BY_WORD = {
    "CERTIFICATE_VERIFY_FAILED": "set cert_authority to the authority that signed the broker's "
    "certificate, and broker to a name in it",
    " alert ": "the broker wants a client certificate of an authority that it trusts: client_cert "
    "and client_key",
    "WRONG_VERSION_NUMBER": _SCHEME,
    "EOF occurred": _SCHEME,
    "reset by peer": f"if it does so at once: {_SCHEME}",
    "closed the connection": f"if it does so at once: {_SCHEME}",
    "timed out": "is broker right, and does its network let this function in?",
    "refused": "is broker right, and does it run?",
}


def delivery_error(error: Exception, where: str, *, by_iam: bool = False) -> DeliveryError:
    """Return the delivery error for an error of the connection."""
    reason = f"{where}: {_reason(error)}"
    if isinstance(error, Refused):
        unauthorized = error.code in _LOGIN_CODES
    elif isinstance(error, HandshakeError):
        unauthorized = error.status in (401, 403)
    else:
        unauthorized = " alert " in reason
    if unauthorized and by_iam:
        reason = f"{where}: {error}; {iam.HINT}"
    if unauthorized:
        return NotAuthorized(reason)
    return TimedOut(reason) if isinstance(error, TimeoutError) else NotConnected(reason)


def refusal(error: Refused, where: str) -> DeliveryError:
    """Return the delivery error for an event that the broker refused: none is permanent."""
    if error.code == 0x87:  # noqa: PLR2004 - not authorised
        return NotAuthorized(f"{where}: {_description(error)}; let the user publish to the topic")
    return Retryable(f"{where}: {_reason(error)}")


def _reason(error: Exception) -> str:
    reason = str(error)
    if isinstance(error, Refused):
        reason, hint = _description(error), _HINTS.get(error.code, "")
    elif isinstance(error, ConnectionClosedError):
        hint = (
            "does the broker's scheme suit its port, does it want a client certificate"
            " (client_cert, client_key), or know an older version only (see version)?"
        )
    elif isinstance(error, Malformed):
        reason, hint = f"the server does not speak MQTT: {error}", _SCHEME
    elif isinstance(error, HandshakeError):
        hint = "see the path of broker, and its port"
    else:
        hint = next((_HINTS_BY_WORD[word] for word in _HINTS_BY_WORD if word in reason), "")
    return f"{reason}; {hint}" if hint else reason


def _description(error: Refused) -> str:
    name = _NAMES.get(error.code, "refused")
    return f"{name} (0x{error.code:02X}) {error}".rstrip()
