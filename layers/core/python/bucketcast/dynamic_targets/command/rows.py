"""A target in the output of `bucketcast target ls`: table row, remarks and JSON object."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bucketcast import deployment as deployed
from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.delivery.breaker import Outage
from bucketcast.deployment.health import Health
from bucketcast.state.breakers import Breakers
from bucketcast.state.counters import Counters, Counts, Last
from bucketcast.terminal.times import age, moment, moment_or_none

COLUMNS = ("TARGET", "STATE", "WAITING", "DEAD", "OLDEST", "LAST OK")
WIDE_COLUMNS = (*COLUMNS, "SENT", "FAILED", "MADE", "ARN", "ADDRESS")
_NEVER = "-"
_BY_DEPLOY, _AT_RUN_TIME = "by the deploy", "at run time"


class Row(NamedTuple):
    """A target with its health, outage and counts."""

    target: deployed.DeployedTarget
    health: Health
    outage: Outage | None
    last: Last
    events: Counts = Counts()

    @property
    def oldest(self) -> int:
        """Arrival of the oldest event in the last batch, in Unix ms; 0 if none is waiting."""
        return self.last.oldest if self.health.waiting else 0


def read_rows(
    targets: Sequence[deployed.DeployedTarget], reports: Sequence[Health], table: str, aws: Aws
) -> tuple[list[Row], Mapping[str, Counts]]:
    """Return a row for each target with its report, and the counts of all ARNs.

    Raises:
        AwsError: AWS cannot be reached.
    """
    with aws_errors():
        outages = Breakers(table, lambda: aws.dynamodb).read()
        counters = Counters(table, lambda: aws.dynamodb)
        last, counts = counters.read_last(), counters.read()
    rows = [
        Row(
            target,
            report,
            outages.get(target.arn),
            last.get(target.arn, Last()),
            counts.get(target.arn, Counts()),
        )
        for target, report in zip(targets, reports, strict=True)
    ]
    return rows, counts


def _origin(target: deployed.DeployedTarget) -> str:
    return _AT_RUN_TIME if target.dynamic else _BY_DEPLOY


def cells(row: Row, now: int) -> tuple[str, ...]:
    """Return a target's row of the table with `WIDE_COLUMNS`, of which `COLUMNS` are the first."""
    health, last = row.health, row.last
    return (
        row.target.name,
        state(row),
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


def state(row: Row) -> str:
    """Return the state in one word: paused, off, online, down or unknown."""
    if row.outage and row.outage.paused:
        return "paused"
    if not row.target.enabled:
        return "off"
    return {True: "online", False: "down", None: "unknown"}[row.health.online]


def remarks(row: Row, now: int) -> str:
    """Return the reason why a target is not online, and its last error."""
    outage, health, last = row.outage, row.health, row.last
    reasons = []
    if outage and outage.paused:
        reasons.append(f"paused since {moment(outage.paused)}: events are queued")
    elif not row.target.enabled:
        reasons.append("off: events are queued")
    elif health.why:
        reasons.append(health.why)
    if outage and outage.since:
        reasons.append(f"one event at a time since {moment(outage.since)}")
    if last.failure:
        error = "" if last.reason in health.why else f": {last.error}: {last.reason}"
        reasons.append(f"last error {age(last.failure, now)} ago{error}")
    return "; ".join(reasons)


def count(messages: int | None) -> str:
    """Return a number of messages, "?" if it is unknown."""
    return "?" if messages is None else f"{messages:,}"


def document(row: Row) -> dict[str, Any]:
    target, health, outage, last = row.target, row.health, row.outage, row.last
    return {
        "arn": target.arn,
        "kind": target.kind,
        "id": target.id,
        "made": _origin(target),
        "topic": target.dynamic.topic or None if target.dynamic else None,
        "enabled": target.enabled,
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
