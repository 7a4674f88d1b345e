"""Refusals of the broker and errors of the connection as delivery errors, by `answers`."""

from bucketcast.errors import DeliveryError
from bucketcast.targets.base import iam
from bucketcast.targets.base.answers import codes_of
from bucketcast.targets.mqtt.answers import ANSWERS
from bucketcast.targets.mqtt.client import Refused
from bucketcast.targets.mqtt.protocol import HandshakeError, Malformed

RAISED = (OSError, Malformed, Refused, HandshakeError)
"""The errors that a connection raises."""
_NAMES = (
    "unspecified error, malformed packet, protocol error, implementation specific error, "
    "unsupported protocol version, client id not valid, bad user name or password, not "
    "authorised, server unavailable, server busy, banned, server shutting down, bad "
    "authentication method, keep-alive timeout, session taken over by another client, topic "
    "filter not valid, topic name not valid, packet id in use, packet id not found, receive "
    "maximum exceeded, topic alias not valid, packet too large, message rate too high, quota "
    "exceeded, administrative action, payload format not valid, retain not supported, quality "
    "of service not supported, use another server, server moved, shared subscriptions not "
    "supported, connection rate exceeded, maximum connect time"
)
"""The meanings of the reason codes, from 0x80 on."""


def delivery_error(
    error: BaseException, where: str, *, connecting: bool = True, by_iam: bool = False
) -> DeliveryError:
    """Return the delivery error for an error of the connection; a refusal ends it."""
    text, codes = str(error), codes_of(error)
    if isinstance(error, Refused):
        text, codes, connecting = _description(error), (_code(error),), True
    elif isinstance(error, Malformed):
        text = f"the server does not speak MQTT: {error}"
    elif isinstance(error, HandshakeError):
        codes = (str(error.status), *codes)
    login_hint = iam.HINT if by_iam else ""
    return ANSWERS.error(where, text, codes, connecting=connecting, login_hint=login_hint)


def refusal(error: Refused, where: str) -> DeliveryError:
    """Return the delivery error for an event that the broker refused: none is permanent."""
    return ANSWERS.error(where, _description(error), (_code(error),))


def _code(error: Refused) -> str:
    return f"0x{error.code:02X}"


def _description(error: Refused) -> str:
    name = dict(enumerate(_NAMES.split(", "), 0x80)).get(error.code, "refused")
    return f"{name} ({_code(error)}) {error}".rstrip()
