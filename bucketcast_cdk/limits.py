"""Limits of AWS that a configuration exceeds, checked before anything is made."""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from aws_cdk import CfnResource, Stack

from bucketcast.config import Deployment, ScanConfig, TargetConfig
from bucketcast.delivery.queue_names import dead_of, target_name
from bucketcast.errors import ConfigError, ConfigErrors

_RESOURCES: Final = 500
_TARGETS: Final = 33
"""Targets that fit in a stack with all of its options and a few buckets."""
_BUCKETS: Final = 60
"""ARNs of buckets that fit in a managed policy of 6,144 characters, whatever their names."""
_QUEUE_NAME: Final = 80
_FUNCTION_NAME: Final = 64
# Lambda takes 4,096 bytes of variables; names, two queue URLs and Powertools' share need the rest.
_ROOM: Final = 4_096 - 1_024


def settings_text(target: TargetConfig) -> str:
    """Return a target's settings as its function reads them."""
    return json.dumps(dict(target.settings), ensure_ascii=False, separators=(",", ":"))


def report_buckets(scans: Mapping[str, ScanConfig]) -> list[str]:
    """Return the buckets whose reports start a scan."""
    return sorted({scan.report[0] for scan in scans.values() if scan.on_inventory and scan.report})


def validation_errors(config: Deployment, stack: str) -> list[ConfigError]:
    """Return the errors of all that AWS would refuse; they show no values."""
    errors = list(_name_errors("stack", f"{stack}-ingress", f"{stack}-custom-resources"))
    facts = len(config.facts.to_text().encode())
    if facts > _ROOM:
        errors.append(
            ConfigError(
                "object_facts",
                f"its buckets and targets make {facts:,} bytes of environment variables",
                f'Lambda has room for {_ROOM:,}: object_facts = "all" names no bucket',
            )
        )
    if (count := len({*config.buckets, *report_buckets(config.scans)})) > _BUCKETS:
        errors.append(
            ConfigError(
                "bucket",
                f"{count} buckets are configured",
                f"IAM takes {_BUCKETS} in a stack: attach others by `bucketcast bucket attach`",
            )
        )
    for target in config.targets:
        key = f"notify_{target.kind}.{target.id}"
        name = target_name(stack, target.kind, target.id)
        errors += _name_errors(key, name + config.queue_end, name)
        size = len(settings_text(target).encode())
        if size > _ROOM:
            errors.append(
                ConfigError(
                    key,
                    f"its settings make {size:,} bytes of environment variables",
                    f"Lambda has room for {_ROOM:,}: keep long values in a secret",
                )
            )
    return errors


def check_size(stack: Stack) -> None:
    """Check that CloudFormation accepts the number of resources of a complete stack.

    Raises:
        ConfigErrors: there are too many.
    """
    count = sum(isinstance(node, CfnResource) for node in stack.node.find_all())
    if count > _RESOURCES:
        error = ConfigError(
            stack.stack_name,
            f"it comes to {count:,} resources",
            f"CloudFormation takes {_RESOURCES}, so about {_TARGETS} targets fit in a stack: use "
            "dynamic targets (`bucketcast target add`) for more",
        )
        raise ConfigErrors([error])


def _name_errors(key: str, queue: str, function: str) -> Iterator[ConfigError]:
    names = [("queue", name, _QUEUE_NAME) for name in (queue, dead_of(queue))]
    for resource, name, limit in [*names, ("function", function, _FUNCTION_NAME)]:
        if len(name) > limit:
            yield ConfigError(
                key,
                f"its {resource} would be called '{name}', {len(name)} characters",
                f"at most {limit}: choose a shorter stack name or id",
            )
