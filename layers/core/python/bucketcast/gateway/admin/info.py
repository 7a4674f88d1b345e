"""`mc admin info`: the targets and their status."""

from collections.abc import Sequence
from importlib import metadata
from typing import Any

from bucketcast.deployment import DeployedTarget
from bucketcast.deployment.health import Health
from bucketcast.destination import TargetArn


def arns(targets: Sequence[DeployedTarget]) -> list[str]:
    """Return the ARNs that MinIO prints after `SQS ARNs:` when it starts."""
    return [
        target.arn for target in targets if target.dynamic is None or target.dynamic.state != "kept"
    ]


def server_info(
    targets: Sequence[DeployedTarget], healths: Sequence[Health], host: str, uptime: int
) -> dict[str, Any]:
    """Return the answer as MinIO's clients read it; `uptime` is seconds."""
    notifications = [
        {TargetArn.parse(target.arn).type: [{target.id: {"status": _status(health)}}]}
        for target, health in zip(targets, healths, strict=True)
    ]
    server = {
        "state": "online",
        "endpoint": host,
        "uptime": uptime,
        "version": f"bucketcast {metadata.version('bucketcast')}",
        "edition": "bucketcast",
    }
    return {
        "mode": "online",
        "sqsARN": arns(targets),
        "services": {"notifications": notifications},
        "servers": [server],
    }


def _status(health: Health) -> str:
    return "online" if health.online else "offline"
