"""Whether the server would take the commands that a batch is made of, without running one.

Between MULTI and DISCARD a command is only queued, after the server has checked whether the user
may use it with this key, whether it is a replica, and whether it has memory. `DISCARD` drops it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bucketcast.targets.redis.client import Command
from bucketcast.targets.redis.settings import RedisSettings

if TYPE_CHECKING:
    from redis.exceptions import ResponseError


def refused_command(ask: Callable[..., Any], settings: RedisSettings) -> "ResponseError | None":
    """Return the server's refusal of the first command that it would not take.

    None also where the user may not use MULTI, and so only an event shows it.
    """
    from redis.exceptions import ResponseError  # noqa: PLC0415 - only who delivers carries it

    try:
        ask("DISCARD")
    except ResponseError as error:
        if "NOPERM" in str(error):
            return None
    try:
        ask("MULTI")
    except ResponseError:
        return None
    refused = None
    for command in _commands(settings):
        try:
            ask(*command)
        except ResponseError as error:
            refused = error
            break
    ask("DISCARD")
    return refused


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
