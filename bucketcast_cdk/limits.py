"""What a configuration asks of AWS in vain, found before anything is made."""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from aws_cdk import CfnResource, Stack

from bucketcast.config import Deployment, ScanConfig, TargetConfig
from bucketcast.delivery.queue_names import dead_of, target_name
from bucketcast.errors import ConfigError, ConfigErrors

_RESOURCES: Final = 500
_TARGETS: Final = 33
"""How many targets fit in a stack with all of its options and a few buckets."""
_BUCKETS: Final = 60
"""How many ARNs of buckets a managed policy of 6,144 characters takes, whatever their names."""
_QUEUE_NAME: Final = 80
_FUNCTION_NAME: Final = 64
# Lambda takes 4,096 bytes of variables; names, two queue URLs and Powertools' share need the rest.
_ROOM: Final = 4_096 - 1_024


def settings_text(target: TargetConfig) -> str:
    """Return a target's settings as its function reads them."""
    return json.dumps(dict(target.settings), ensure_ascii=False, separators=(",", ":"))


def report_buckets(scans: Mapping[str, ScanConfig]) -> list[str]:
    """Return the buckets whose reports start a scan."""
    return sorted({each.report[0] for each in scans.values() if each.on_inventory and each.report})


def validation_errors(config: Deployment, stack: str) -> list[ConfigError]:
    """Find all that AWS would refuse; values are not shown."""
    found = list(_names("stack", f"{stack}-ingress", f"{stack}-custom-resources"))
    facts = len(config.facts.to_text().encode())
    if facts > _ROOM:
        found.append(
            ConfigError(
                "object_facts",
                f"its buckets and targets make {facts:,} bytes of environment variables",
                f'Lambda has room for {_ROOM:,}: object_facts = "all" names no bucket',
            )
        )
    if (count := len({*config.buckets, *report_buckets(config.scans)})) > _BUCKETS:
        found.append(
            ConfigError(
                "bucket",
                f"{count} buckets are configured",
                f"IAM takes {_BUCKETS} in a stack: attach others by `bucketcast bucket attach`",
            )
        )
    for target in config.targets:
        key = f"notify_{target.kind}.{target.id}"
        name = target_name(stack, target.kind, target.id)
        found += _names(key, name + config.queue_end, name)
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


def check_size(stack: Stack) -> None:
    """Check that CloudFormation takes a stack's resources, all of which are made.

    Raises:
        ConfigErrors: there are too many.
    """
    count = sum(isinstance(each, CfnResource) for each in stack.node.find_all())
    if count > _RESOURCES:
        error = ConfigError(
            stack.stack_name,
            f"it comes to {count:,} resources",
            f"CloudFormation takes {_RESOURCES}, so about {_TARGETS} targets fit in a stack: use "
            "dynamic targets (`bucketcast target add`) for more",
        )
        raise ConfigErrors([error])


def _names(key: str, queue: str, function: str) -> Iterator[ConfigError]:
    names = [("queue", name, _QUEUE_NAME) for name in (queue, dead_of(queue))]
    for what, name, limit in [*names, ("function", function, _FUNCTION_NAME)]:
        if len(name) > limit:
            yield ConfigError(
                key,
                f"its {what} would be called '{name}', {len(name)} characters",
                f"at most {limit}: choose a shorter stack name or id",
            )
