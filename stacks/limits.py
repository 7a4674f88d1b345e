"""AWS's limits that a configuration can reach, checked before anything is deployed."""

from collections.abc import Mapping
from typing import Final

from aws_cdk import Token

from bucketcast.errors import ConfigError

_QUEUE_NAME: Final = 80
_FUNCTION_NAME: Final = 64
_ENVIRONMENT: Final = 4_096  # bytes of all names and values together
_UNKNOWN: Final = 160  # bytes reserved for a value that only the deploy knows, a queue's URL say


def check_names(key: str, *, queues: tuple[str, ...], function: str) -> list[ConfigError]:
    """Find the physical names of `key`'s resources that AWS would refuse as too long."""
    names = [("queue", name, _QUEUE_NAME) for name in queues]
    names.append(("function", function, _FUNCTION_NAME))
    return [
        ConfigError(
            key,
            f"its {what} would be called '{name}', {len(name)} characters",
            f"at most {limit}: choose a shorter id or stack name",
        )
        for what, name, limit in names
        if len(name) > limit
    ]


def check_environment(key: str, environment: Mapping[str, str]) -> list[ConfigError]:
    """Find out whether a function's variables pass Lambda's limit; their values are not shown."""
    size = sum(
        len(name.encode()) + (_UNKNOWN if Token.is_unresolved(value) else len(value.encode()))
        for name, value in environment.items()
    )
    if size <= _ENVIRONMENT:
        return []
    return [
        ConfigError(
            key,
            f"its settings make {size:,} bytes of environment variables",
            f"Lambda takes {_ENVIRONMENT:,}: move long values into a secret and refer to it",
        )
    ]
