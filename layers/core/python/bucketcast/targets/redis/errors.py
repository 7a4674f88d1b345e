"""Errors of the client as delivery errors, by the list of `answers`."""

import re

from bucketcast.errors import DeliveryError
from bucketcast.targets.base import iam
from bucketcast.targets.base.answers import codes_of
from bucketcast.targets.redis.answers import ANSWERS
from bucketcast.targets.redis.settings import RedisSettings

REQUIRED_RIGHTS = {
    "hash": "+eval +evalsha +ping +type +hget +hmget +hset +hdel +hlen +zadd +zrem +zrangebyscore",
    "list": "+rpush +ping +type",
}
_PREFIX = re.compile(r"(?:ERR )?(?:Error running script .*?: -)?([A-Z]+)(?= |$)")
"""The code of an error; before Redis 7 that of a script's command is inside of its own."""
_LUA_ERROR = re.compile(r"(?<!@)user_script:[0-9]+: (?!.*(SCRIPT KILL|not enough memory))")
"""A failure of Lua itself. The error of a command in the script, such as one without memory, has an
@ before the script's name, or is the command's own."""


def is_script_error(error: Exception) -> bool:
    """Return True if the script itself failed, because of its arguments."""
    return bool(_LUA_ERROR.search(str(error)))


def delivery_error(
    error: Exception, settings: RedisSettings, where: str, *, connecting: bool = False
) -> DeliveryError:
    """Translate an error of the client into a delivery error with a hint."""
    code = getattr(error, "status_code", None)
    text = f"{code} {error}" if code else str(error)
    prefix = _PREFIX.match(text)
    return ANSWERS.error(
        where,
        text,
        (*([prefix[1]] if prefix else []), *codes_of(error)),
        connecting=connecting,
        key=settings.key,
        type=settings.type,
        needs=REQUIRED_RIGHTS[settings.type],
        tls="on" if settings.tls else "off",
        login=iam.HINT if settings.by_iam else "see user and password",
    )
