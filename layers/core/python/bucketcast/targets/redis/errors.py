"""Translate the errors of redis-py into delivery errors with hints."""

import re

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Retryable, TimedOut
from bucketcast.targets.base import iam
from bucketcast.targets.redis.settings import RedisSettings

REQUIRED_RIGHTS = {
    "hash": "+eval +evalsha +ping +type +hget +hmget +hset +hdel +hlen +zadd +zrem +zrangebyscore",
    "list": "+rpush +ping +type",
}
_HINTS = {
    "WRONGTYPE": "'{key}' must hold a {type} or nothing: rename the existing key, or set another",
    "NOPERM": "the user needs ~{key}* {needs}",
    "CROSSSLOT": "on a cluster the key needs a tag, such as {{{key}}}",
    "MOVED": "address must be the server that holds the key's slot, or a proxy",
    "READONLY": "address must be the primary's",
    "CERTIFICATE_VERIFY_FAILED": "set cert_authority to the authority that signed the server's "
    "certificate, and address to a name in it",
    "alert unknown ca": "client_cert must be a certificate of an authority that the server trusts",
    "certificate required": "the server wants a client certificate: client_cert and client_key",
    "EOF occurred": "does the server want a client certificate, or another one than "
    "client_cert with client_key?",
    "Timeout connecting": "is the address right, does its network let this function in, and does "
    "tls = {tls} suit the port?",
    "closed by server": "if it does so at once: does tls = {tls} suit the port?",
    "reset by peer": "if it does so at once: does tls = {tls} suit the port?",
}
"""Hints by a word in the error."""
_LUA_ERROR = re.compile(r"(?<!@)user_script:[0-9]+: (?!.*(SCRIPT KILL|not enough memory))")
"""A failure of Lua itself. The error of a command in the script, such as one without memory, has an
@ before the script's name, or is the command's own."""


def is_script_error(error: Exception) -> bool:
    """Return True if the script itself failed, because of its arguments."""
    return bool(_LUA_ERROR.search(str(error)))


def hint(word: str, settings: RedisSettings) -> str:
    """Return the hint for an error with this word."""
    tls = "on" if settings.tls else "off"
    return _HINTS[word].format(
        key=settings.key, type=settings.type, needs=REQUIRED_RIGHTS[settings.type], tls=tls
    )


def delivery_error(error: Exception, settings: RedisSettings, where: str) -> DeliveryError:
    """Translate an error of the client into a delivery error with a hint."""
    from redis import exceptions  # noqa: PLC0415

    code = getattr(error, "status_code", None)
    message = f"{code} {error}" if code else str(error)
    word = next((word for word in _HINTS if word in message), "")
    reason, advice = f"{where}: {message}", hint(word, settings) if word else ""
    is_login = isinstance(error, exceptions.AuthenticationError | exceptions.AuthorizationError)
    if is_login and settings.by_iam:
        advice = iam.HINT
    if is_login or " alert " in message:  # TLS refused the client's certificate
        return NotAuthorized.hinted(reason, advice)
    if isinstance(error, exceptions.TimeoutError | TimeoutError):
        return TimedOut.hinted(reason, advice)
    if "READONLY" in message or not isinstance(
        error, exceptions.ResponseError | exceptions.BusyLoadingError
    ):
        return NotConnected.hinted(reason, advice)
    return Retryable.hinted(reason, advice)
