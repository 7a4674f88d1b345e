"""What commands, pages and findings say of a target beside its state."""

from bucketcast.deployment.status import Status
from bucketcast.terminal.times import age, moment


def remarks(status: Status, now: int) -> str:
    """Return the reason why a target is not online, and its last error."""
    (state, since, next_try), health, last = status.condition, status.health, status.last
    reasons = []
    if state in ("paused", "off"):
        reasons.append(f"{state}{_since(since)}: events are queued")
    elif health.why:
        reasons.append(health.why)
    if state in ("failing", "offline") and since:
        tries = f": {last.taken:,} of its last {last.tried:,} tries went through"
        reasons.append(f"failing{_since(since)}{tries if last.tried else ''}")
    if next_try and state in ("failing", "offline"):
        reasons.append(f"one event at a time, the next in {age(now, next_try)}")
    if last.failure:
        error = "" if last.reason in health.why else f": {last.error}: {last.reason}"
        reasons.append(f"last error {age(last.failure, now)} ago{error}")
    return "; ".join(reasons)


def _since(since: int) -> str:
    return f" since {moment(since)}" if since else ""
