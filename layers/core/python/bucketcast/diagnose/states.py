"""Check what became of the events of each target."""

from typing import Any

from bucketcast.deployment.status import Status
from bucketcast.finding import Finding
from bucketcast.limits import ALARM_AGE_SECONDS, LONGEST_PAUSE_SECONDS, REPORTED_AGE_SECONDS
from bucketcast.terminal.remarks import remarks
from bucketcast.terminal.times import age

CHECK = "state"
_QUIET_MS = ALARM_AGE_SECONDS * 1_000


def check_state(status: Status, now: int) -> Finding:
    """Check the state of a target at `now` (Unix ms)."""
    target, state, last = status.target, status.condition.state, status.last
    repair, command = "repair what the error names: its events wait, and follow by themselves", ""
    hint = repair
    if state == "paused":
        hint, command = "resume it when it may go on", f"bucketcast target resume {target.name}"
    elif state == "failing" and last.error == "Rejected":
        hint = "repair what refuses them, and send the dead letters again"
        command = f"bucketcast dlq ls {target.name}"
    if state in ("paused", "failing", "offline"):
        urgency: Any = "warn" if state == "paused" else "error"
        text = remarks(status, now)
        found = text if text.startswith(state) else f"{state}: {text}"
        return Finding(CHECK, target.arn, urgency, found, hint, command)
    if state == "absent" and status.health.waiting:
        found = f"it was removed while {status.health.waiting:,} messages waited: SQS drops them"
        hint = "create it again, and they are sent; or discard them"
        command = f"bucketcast target rm {target.name} --discard"
        return Finding(CHECK, target.arn, "warn", found, hint, command)
    behind = (status.health.waiting or 0) - (status.health.in_flight or 0)
    if state == "online" and behind > 0 and max(last.success, last.failure) < now - _QUIET_MS:
        found = f"{behind:,} messages wait, and none was tried for {_QUIET_MS // 60_000} minutes"
        command = f"aws logs tail /aws/lambda/{target.function} --since 1h"
        return Finding(CHECK, target.arn, "warn", found, "see how its function ends", command)
    if state == "online" and 0 < status.oldest < now - REPORTED_AGE_SECONDS * 1_000:
        waited = age(status.oldest, now)
        # An event that is refused alone is tried again at least so often.
        if last.error == "Retryable" and last.failure > now - LONGEST_PAUSE_SECONDS * 1_000:
            found = f"refused alone for {waited}: {last.reason}"
            return Finding(CHECK, target.arn, "warn", found, repair)
        found = f"slower than its events come: one has waited for {waited}"
        hint = "raise its max_concurrency, or take the profile throughput: see docs/operations.md"
        return Finding(CHECK, target.arn, "warn", found, hint)
    return Finding(CHECK, target.arn, "ok", state)
