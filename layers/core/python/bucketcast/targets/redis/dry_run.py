"""Check that the server would accept the commands of a batch, without running them.

After MULTI, the server checks the user's rights for a command and key, whether it is a replica, and
its memory; then it queues the command. DISCARD drops the queue.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bucketcast.targets.redis.client import Command
from bucketcast.targets.redis.settings import RedisSettings

if TYPE_CHECKING:
    from redis.exceptions import ResponseError


def find_refused_command(
    execute: Callable[..., Any], settings: RedisSettings
) -> "ResponseError | None":
    """Return the error of the first refused command.

    It is also None if the user may not use MULTI: then only an event shows missing rights.
    """
    from redis.exceptions import ResponseError  # noqa: PLC0415 - carried by functions that deliver

    try:
        execute("DISCARD")
    except ResponseError as error:
        if "NOPERM" in str(error):
            return None
    try:
        execute("MULTI")
    except ResponseError:
        return None
    refusal = None
    for command in _commands(settings):
        try:
            execute(*command)
        except ResponseError as error:
            refusal = error
            break
    execute("DISCARD")
    return refusal


def _commands(settings: RedisSettings) -> list[Command]:
    key = settings.key
    if settings.type == "list":
        return [("RPUSH", key, "")]
    return [
        ("EVAL", "return 1", 1, key),
        ("EVALSHA", "0" * 40, 1, key),
        ("HGET", key, ""),
        ("HMGET", key, ""),
        ("HSET", key, "", ""),
        ("HDEL", key, ""),
        ("HLEN", key),
        ("ZADD", key, 0, ""),
        ("ZREM", key, ""),
        ("ZRANGEBYSCORE", key, "-inf", "+inf"),
    ]
