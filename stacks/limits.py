"""What a configuration asks of AWS in vain, found before anything is made."""

import json
from collections.abc import Iterator
from typing import Final

from bucketcast.config import Deployment, TargetConfig
from bucketcast.errors import ConfigError
from bucketcast.queues import queue_names, target_name

_QUEUE_NAME: Final = 80
_FUNCTION_NAME: Final = 64
# Lambda takes 4,096 bytes of variables; names, two queue URLs and Powertools' share need the rest.
_ROOM: Final = 4_096 - 1_024
# IAM takes so many characters of all inline policies of a role, blanks not counted. Of wiring's,
# what is there without buckets comes to 1,550 at most, and a bucket to 156 and its name.
_INLINE: Final = 10_240
_WITHOUT_BUCKETS: Final = 1_550
_BUCKET: Final = 156


def settings_text(target: TargetConfig) -> str:
    """Give a target's settings as its function reads them."""
    return json.dumps(dict(target.settings), ensure_ascii=False, separators=(",", ":"))


def mistakes(config: Deployment, stack: str) -> list[ConfigError]:
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
    found += _rights(config)
    for target in config.targets:
        key = f"notify_{target.kind}.{target.id}"
        name = target_name(stack, target.kind, target.id)
        found += _names(key, name, name, fifo=config.sync_events)
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


def _rights(config: Deployment) -> Iterator[ConfigError]:
    """Find whether the rights to wire all buckets are more than a role can have."""
    scans = config.scans.values()
    reports = {each.report[0] for each in scans if each.on_inventory and each.report}
    names = [*config.buckets, *reports]
    size = _WITHOUT_BUCKETS + sum(_BUCKET + len(name) for name in names)
    if size > _INLINE:
        yield ConfigError(
            "bucket",
            f"the rights to wire {len(names)} buckets make {size:,} characters",
            f"IAM takes {_INLINE:,} of a role: wire the others by `bucketcast attach`",
        )


def _names(key: str, queue: str, function: str, *, fifo: bool) -> Iterator[ConfigError]:
    names = [("queue", name, _QUEUE_NAME) for name in queue_names(queue, fifo=fifo)]
    for what, name, limit in [*names, ("function", function, _FUNCTION_NAME)]:
        if len(name) > limit:
            yield ConfigError(
                key,
                f"its {what} would be called '{name}', {len(name)} characters",
                f"at most {limit}: choose a shorter stack name or id",
            )
