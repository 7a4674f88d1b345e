"""Find what a deploy would refuse: limits of AWS, and targets that AWS does not reach."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from bucketcast import targets
from bucketcast.config.model import Deployment
from bucketcast.config.pipeline import ScanConfig
from bucketcast.config.target import TargetConfig
from bucketcast.delivery.queue_names import dead_of, target_name
from bucketcast.errors import BucketcastError, ConfigError
from bucketcast.settings import egress
from bucketcast.settings.options import read

MOST_BUCKETS: Final = 60
"""ARNs of buckets that fit in a managed policy of 6,144 characters, whatever their names."""
_QUEUE_NAME: Final = 80
_FUNCTION_NAME: Final = 64
# Lambda takes 4,096 bytes of variables; names, two queue URLs and Powertools' share need the rest.
_ROOM: Final = 4_096 - 1_024
_PUBLIC: Final = (
    "a host that AWS reaches, as in examples/aws/bucketcast.toml; --local is for a laptop's file"
)


def settings_text(target: TargetConfig) -> str:
    """Return a target's settings as its function reads them."""
    return json.dumps(dict(target.settings), ensure_ascii=False, separators=(",", ":"))


def report_buckets(scans: Mapping[str, ScanConfig]) -> list[str]:
    """Return the buckets whose reports start a scan."""
    return sorted({scan.report[0] for scan in scans.values() if scan.on_inventory and scan.report})


def deploy_errors(config: Deployment, stack: str, *, local: bool) -> list[ConfigError]:
    """Return the errors of all that a deploy of this stack would refuse.

    Addresses inside secrets are not checked.
    """
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
    if (count := len({*config.buckets, *report_buckets(config.scans)})) > MOST_BUCKETS:
        errors.append(
            ConfigError(
                "bucket",
                f"{count} buckets are configured",
                f"IAM takes {MOST_BUCKETS} in a stack: attach others by `bucketcast bucket attach`",
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
    return errors if local else [*errors, *_unreachable(config.targets)]


def _unreachable(configs: Iterable[TargetConfig]) -> Iterator[ConfigError]:
    """Yield the errors of targets at loopback addresses, which only a laptop reaches."""
    for config in configs:
        target = targets.load(config.kind)
        try:
            instance = target(read(target.Settings, config.settings)) if config.enabled else None
            hosts = {server.host for server in instance.endpoints()} if instance else set()
        except BucketcastError:
            continue  # the address is in a secret
        for host in sorted(filter(egress.is_own, hosts)):
            key = next((key for key, setting in config.settings.items() if host in setting), "")
            where = f"notify_{config.kind}.{config.id}.{key}".rstrip(".")
            yield ConfigError(where, f"found {host}, which is the function itself", _PUBLIC)


def _name_errors(key: str, queue: str, function: str) -> Iterator[ConfigError]:
    names = [("queue", name, _QUEUE_NAME) for name in (queue, dead_of(queue))]
    for resource, name, limit in [*names, ("function", function, _FUNCTION_NAME)]:
        if len(name) > limit:
            yield ConfigError(
                key,
                f"its {resource} would be called '{name}', {len(name)} characters",
                f"at most {limit}: choose a shorter stack name or id",
            )
