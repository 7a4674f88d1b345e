"""What redis-py raises, as an outcome that says what to do."""

import re
from typing import Protocol

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Retryable


class Given(Protocol):
    """The target's options that a cure may name."""

    @property
    def key(self) -> str: ...
    @property
    def tls(self) -> bool: ...


NEEDS = {
    "hash": "+eval +ping +type +hget +hmget +hset +hdel +hlen +zadd +zrem +zrangebyscore",
    "list": "+rpush +ping +type",
}
_CURES = {
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


def stumbled(error: Exception) -> bool:
    """Whether the script failed by itself, at what it was given."""
    return bool(_OF_LUA.search(str(error)))


def cure(word: str, given: Given, type_: str) -> str:
    """What to do about an answer that holds this word."""
    tls = "on" if given.tls else "off"
    return _CURES[word].format(key=given.key, type=type_, needs=NEEDS[type_], tls=tls)


def outcome(error: Exception, given: Given, type_: str, where: str) -> DeliveryError:
    """What the client raised, as an outcome that says what to do."""
    from redis import exceptions  # noqa: PLC0415

    code = getattr(error, "status_code", None)
    found = f"{code} {error}" if code else str(error)
    word = next((word for word in _CURES if word in found), "")
    reason = f"{where}: {found}"
    if word:
        reason = f"{reason}; {cure(word, given, type_)}"
    login = isinstance(error, exceptions.AuthenticationError | exceptions.AuthorizationError)
    if login or " alert " in found:  # by which TLS refuses a client's certificate
        return NotAuthorized(reason)
    if "READONLY" in found or not isinstance(
        error, exceptions.ResponseError | exceptions.BusyLoadingError
    ):
        return NotConnected(reason)
    return Retryable(reason)
