"""What a configuration asks of AWS in vain, found before anything is made."""

import json
from collections.abc import Iterator
from typing import Final

from bucketcast.config import Deployment, TargetConfig
from bucketcast.errors import ConfigError
from bucketcast.queues import queue_names, target_name
from bucketcast_cdk.nested_stacks import INFIX

_QUEUE_NAME: Final = 80
_FUNCTION_NAME: Final = 64
# Lambda takes 4,096 bytes of variables; names, two queue URLs and Powertools' share need the rest.
_ROOM: Final = 4_096 - 1_024


def settings_text(target: TargetConfig) -> str:
    """Return a target's settings as its function reads them."""
    return json.dumps(dict(target.settings), ensure_ascii=False, separators=(",", ":"))


def validation_errors(config: Deployment, stack: str) -> list[ConfigError]:
    """Find all that AWS would refuse; values are not shown."""
    found = list(_names("stack", f"{stack}-ingress", f"{stack}-ingest", fifo=False))
    facts = len(config.facts.to_text().encode())
    if facts > _ROOM:
        found.append(
            ConfigError(
                "object_facts",
                f"its buckets and targets make {facts:,} bytes of environment variables",
                f'Lambda has room for {_ROOM:,}: object_facts = "all" names no bucket',
            )
        )
    for target in config.targets:
        key = f"notify_{target.kind}.{target.id}"
        name = target_name(stack, target.kind, target.id)
        prefix = f"{stack}-{INFIX if config.nested else ''}"
        function = f"{prefix}{target.kind}-{target.id}"
        found += _names(key, name, function, fifo=config.sync_events)
        size = len(settings_text(target).encode())
        if size > _ROOM:
            found.append(
                ConfigError(
                    key,
                    f"its settings make {size:,} bytes of environment variables",
                    f"Lambda has room for {_ROOM:,}: keep long values in a secret",
                )
            )
    return found


def _names(key: str, queue: str, function: str, *, fifo: bool) -> Iterator[ConfigError]:
    names = [("queue", name, _QUEUE_NAME) for name in queue_names(queue, fifo=fifo)]
    for what, name, limit in [*names, ("function", function, _FUNCTION_NAME)]:
        if len(name) > limit:
            yield ConfigError(
                key,
                f"its {what} would be called '{name}', {len(name)} characters",
                f"at most {limit}: choose a shorter stack name or id",
            )
