"""`mc admin info`: the targets and their status."""

from collections.abc import Sequence
from importlib import metadata
from typing import Any

from bucketcast.deployment.status import Status
from bucketcast.destination import TargetArn


def server_info(statuses: Sequence[Status], host: str, uptime: int) -> dict[str, Any]:
    """Return the answer as MinIO's clients read it; `uptime` is seconds.

    They know two words only.
    """
    notifications = [
        {TargetArn.parse(each.target.arn).type: [{each.target.id: {"status": _status(each)}}]}
        for each in statuses
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
        "sqsARN": [each.target.arn for each in statuses if each.target.state != "kept"],
        "services": {"notifications": notifications},
        "servers": [server],
    }


def _status(status: Status) -> str:
    return "online" if status.condition.state == "online" else "offline"
