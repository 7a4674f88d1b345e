"""A target in the output of `bucketcast target ls`: table row, remarks and JSON object."""

from typing import Any

from bucketcast import deployment as deployed
from bucketcast.delivery.breaker import Outage
from bucketcast.deployment.status import Status
from bucketcast.state.counters import Last
from bucketcast.terminal.times import age, moment, moment_or_none

COLUMNS = ("TARGET", "STATE", "WAITING", "DEAD", "OLDEST", "LAST OK")
ALL_COLUMNS = (*COLUMNS, "SENT", "FAILED", "MADE", "ARN", "ADDRESS")
_NEVER = "-"
_BY_DEPLOY, _AT_RUN_TIME = "by the deploy", "at run time"


def _origin(target: deployed.DeployedTarget) -> str:
    return _AT_RUN_TIME if target.dynamic else _BY_DEPLOY


def cells(row: Status, now: int) -> tuple[str, ...]:
    """Return a target's row of the table with `ALL_COLUMNS`, of which `COLUMNS` are the first."""
    health, last = row.health, row.last
    return (
        row.target.name,
        row.condition.state,
        count(health.waiting),
        count(health.dead),
        age(row.oldest, now) if row.oldest else _NEVER,
        f"{age(last.success, now)} ago" if last.success else _NEVER,
        f"{row.events.sent:,}",
        f"{row.events.failed:,}",
        _origin(row.target),
        row.target.arn,
        health.where,
    )


def count(messages: int | None) -> str:
    """Return a number of messages, "?" if it is unknown."""
    return "?" if messages is None else f"{messages:,}"


def document(row: Status) -> dict[str, Any]:
    target, health, outage, last = row.target, row.health, row.outage, row.last
    return {
        "arn": target.arn,
        "kind": target.kind,
        "id": target.id,
        "made": _origin(target),
        "topic": target.arn if target.is_topic else None,
        "enabled": target.enabled,
        "state": row.condition.state,
        "since": moment_or_none(row.condition.since),
        "last_tries": {"tried": last.tried, "taken": last.taken},
        "where": health.where,
        "online": health.online,
        "why": health.why,
        "waiting": health.waiting,
        "in_flight": health.in_flight,
        "oldest": moment_or_none(row.oldest),
        "dead": health.dead,
        "paused": moment_or_none(outage.paused) if outage else None,
        "breaker": _breaker(outage) if outage and outage.since else None,
        "last_success": moment_or_none(last.success),
        "last_failure": _failure(last) if last.failure else None,
        "events": row.events._asdict(),
    }


def _failure(last: Last) -> dict[str, Any]:
    return {"at": moment(last.failure), "error": last.error, "reason": last.reason}


def _breaker(outage: Outage) -> dict[str, Any]:
    """Return the state of an open breaker."""
    return {
        "open_since": moment(outage.since),
        "next_try": moment(outage.next),
        "failed_tries": outage.tries,
        "error": outage.error,
        "reason": outage.reason,
    }
