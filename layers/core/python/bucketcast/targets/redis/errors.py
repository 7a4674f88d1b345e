"""What redis-py raises, as an error that says what to do."""

import re

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Retryable, TimedOut
from bucketcast.targets.base import iam
from bucketcast.targets.redis.settings import RedisSettings

NEEDS = {
    "hash": "+eval +evalsha +ping +type +hget +hmget +hset +hdel +hlen +zadd +zrem +zrangebyscore",
    "list": "+rpush +ping +type",
}
_HINTS = {
    "WRONGTYPE": "'{key}' must hold a {type} or nothing: rename what is there, or set another key",
    "NOPERM": "the user needs ~{key}* {needs}",
    "CROSSSLOT": "on a cluster the key needs a tag, such as {{{key}}}",
    "MOVED": "address must be the server that holds the key's slot, or a proxy",
    "READONLY": "address must be the primary's",
    "CERTIFICATE_VERIFY_FAILED": "set cert_authority to the authority that signed the server's "
    "certificate, and address to a name that stands in it",
    "alert unknown ca": "client_cert must be a certificate of an authority that the server trusts",
    "certificate required": "the server wants a client certificate: client_cert and client_key",
    "EOF occurred": "does the server want a client certificate, or another one than "
    "client_cert with client_key?",
    "Timeout connecting": "is the address right, does its network let this function in, and does "
    "tls = {tls} suit the port?",
    "closed by server": "if it does so at once: does tls = {tls} suit the port?",
    "reset by peer": "if it does so at once: does tls = {tls} suit the port?",
}
"""What to do, by a word of the answer."""
_OF_LUA = re.compile(r"(?<!@)user_script:[0-9]+: (?!.*(SCRIPT KILL|not enough memory))")
"""Where in the script Lua failed; where a command in it was refused, as for want of memory, there
is an @ before it, or the command's own error."""


def is_script_error(error: Exception) -> bool:
    """Return whether the script failed by itself, at what it was given."""
    return bool(_OF_LUA.search(str(error)))


def hint(word: str, settings: RedisSettings) -> str:
    """Return what to do about an answer that holds this word."""
    tls = "on" if settings.tls else "off"
    return _HINTS[word].format(
        key=settings.key, type=settings.type, needs=NEEDS[settings.type], tls=tls
    )


def delivery_error(error: Exception, settings: RedisSettings, where: str) -> DeliveryError:
    """Return what the client raised as an error that says what to do."""
    from redis import exceptions  # noqa: PLC0415

    code = getattr(error, "status_code", None)
    found = f"{code} {error}" if code else str(error)
    word = next((word for word in _HINTS if word in found), "")
    reason, advice = f"{where}: {found}", hint(word, settings) if word else ""
    login = isinstance(error, exceptions.AuthenticationError | exceptions.AuthorizationError)
    if login and settings.by_iam:
        advice = iam.HINT
    if login or " alert " in found:  # by which TLS refuses a client's certificate
        return NotAuthorized.hinted(reason, advice)
    if isinstance(error, exceptions.TimeoutError | TimeoutError):
        return TimedOut.hinted(reason, advice)
    if "READONLY" in found or not isinstance(
        error, exceptions.ResponseError | exceptions.BusyLoadingError
    ):
        return NotConnected.hinted(reason, advice)
    return Retryable.hinted(reason, advice)
