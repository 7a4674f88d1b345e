"""A target as `bucketcast target ls` shows it: a line of the table, reasons, and a JSON object."""

from typing import Any, NamedTuple

from bucketcast import deployment as deployed
from bucketcast.delivery.breaker import Outage
from bucketcast.deployment.health import Health
from bucketcast.state.counters import Counts, Last
from bucketcast.terminal.times import age, moment, moment_or_none

COLUMNS = ("ARN", "ONLINE", "WAITING", "OLDEST", "DEAD", "SENT", "FAILED", "LAST SUCCESS")
_NEVER = "-"
MADE = "MADE"
_BY_DEPLOY, _AT_RUN_TIME = "by the deploy", "at run time"


class Listed(NamedTuple):
    """A target, and all that is known of it now."""

    target: deployed.DeployedTarget
    health: Health
    outage: Outage | None
    last: Last
    events: Counts = Counts()

    @property
    def oldest(self) -> int:
        """When the oldest event of the last batch came, in Unix ms; 0 if none waits or was seen."""
        return self.last.oldest if self.health.waiting else 0


def made_how(target: deployed.DeployedTarget) -> str:
    return _AT_RUN_TIME if target.made else _BY_DEPLOY


def cells(each: Listed, now: int) -> tuple[str, ...]:
    """Return a target's line of the table, but for how it was made."""
    health, last = each.health, each.last
    return (
        each.target.arn,
        _online(each),
        _count(health.waiting),
        age(each.oldest, now) if each.oldest else _NEVER,
        _count(health.dead),
        str(each.events.sent),
        str(each.events.failed),
        f"{age(last.success, now)} ago" if last.success else _NEVER,
    )


def _online(each: Listed) -> str:
    if each.outage and each.outage.paused:
        return "paused"
    if not each.target.enabled:
        return "off"
    return {True: "yes", False: "no", None: "unknown"}[each.health.online]


def why(each: Listed, now: int) -> str:
    """Return what the table does not say: why a target is not online, and its last error."""
    outage, health, last = each.outage, each.health, each.last
    reasons = []
    if outage and outage.paused:
        reasons.append(f"paused since {moment(outage.paused)}: events are queued")
    elif not each.target.enabled:
        reasons.append("off: events are queued")
    elif health.why:
        reasons.append(health.why)
    if outage and outage.since:
        reasons.append(f"one event at a time since {moment(outage.since)}")
    if last.failure:
        said = "" if last.reason in health.why else f": {last.error}: {last.reason}"
        reasons.append(f"last error {age(last.failure, now)} ago{said}")
    return "; ".join(reasons)


def _count(messages: int | None) -> str:
    return "?" if messages is None else str(messages)


def document(each: Listed) -> dict[str, Any]:
    target, health, outage, last = each.target, each.health, each.outage, each.last
    return {
        "arn": target.arn,
        "kind": target.kind,
        "id": target.id,
        "made": made_how(target),
        "enabled": target.enabled,
        "where": health.where,
        "online": health.online,
        "why": health.why,
        "waiting": health.waiting,
        "in_flight": health.in_flight,
        "oldest": moment_or_none(each.oldest),
        "dead": health.dead,
        "paused": moment_or_none(outage.paused) if outage else None,
        "breaker": _breaker(outage) if outage and outage.since else None,
        "last_success": moment_or_none(last.success),
        "last_failure": _failure(last) if last.failure else None,
        "events": each.events._asdict(),
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
