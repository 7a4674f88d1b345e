"""The status of a target, said here for all commands, pages and answers.

Whether a target works shows in what became of its events; the health check only shows whether it
can be reached: a server that answers 503 to every event passes it.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.delivery.breaker import Outage
from bucketcast.deployment import Deployed, DeployedTarget
from bucketcast.deployment.health import Health, health
from bucketcast.errors import NotConnected
from bucketcast.limits import REPORTED_AGE_SECONDS
from bucketcast.state.breakers import Breakers
from bucketcast.state.counters import Counters, Counts, Last

State = Literal["online", "failing", "offline", "paused", "off", "absent", "probing", "unknown"]


class Condition(NamedTuple):
    """The state of a target, and since when; times are Unix ms, 0 where they are not known.

    `online`: nothing is known against it; `failing`: most of its last tries failed; `offline`: it
    cannot be reached or used; `paused` and `off`: its events are meant to wait; `absent`: it was
    removed; `probing`: its health check runs; `unknown`: that could not be made. `next_try` is when
    one event is tried, while the others wait.
    """

    state: State
    since: int = 0
    next_try: int = 0


def condition(
    target: DeployedTarget, report: Health, outage: Outage | None, last: Last
) -> Condition:
    """Return the state of a target, from what is known of it."""
    if target.state == "kept":
        return Condition("absent")
    if outage and outage.paused:
        return Condition("paused", outage.paused)
    if not target.enabled:
        return Condition("off")
    if outage and report.waiting == 0 and last.success > outage.since:
        outage = None  # its end was not written
    since, next_try, error = (outage.since, outage.next, outage.error) if outage else (0, 0, "")
    away = error == NotConnected.__name__ and report.online is None
    since = since or (last.failing if _most_fail(report, last) else 0)
    if report.online is False or away:
        return Condition("offline", since, next_try)
    if since:
        return Condition("failing", since, next_try)
    unchecked: State = "unknown" if report.why else "probing"
    return Condition("online" if report.online else unchecked)


def _most_fail(report: Health, last: Last) -> bool:
    """Return True if most of the last events did not go through.

    If nothing waits, or only what is being tried, what failed before a success went through.
    """
    waiting = report.waiting
    fault = last.dead if waiting == 0 else last.failure
    behind = waiting is None or waiting > (report.in_flight or 0)
    is_over = not behind and (not fault or last.success > fault)
    return 2 * last.taken < last.tried and not is_over


class Status(NamedTuple):
    """A target with its health, outage and counts."""

    target: DeployedTarget
    health: Health
    outage: Outage | None
    last: Last
    events: Counts = Counts()

    @property
    def condition(self) -> Condition:
        return condition(self.target, self.health, self.outage, self.last)

    @property
    def oldest(self) -> int:
        """Arrival of the oldest event that is known to wait, in Unix ms; 0 if none is known.

        What was taken at once, however long ago, tells nothing of what waits now.
        """
        health, outage, last = self.health, self.outage, self.last
        if not health.waiting:
            return 0
        is_left = outage or last.left > last.success or _most_fail(health, last)
        is_behind = last.success - last.oldest > REPORTED_AGE_SECONDS * 1_000
        known = (
            last.left if is_left else 0,
            last.oldest if is_behind and health.waiting > (health.in_flight or 0) else 0,
            outage.since if outage else 0,
        )
        return min(filter(None, known), default=0)


def read_statuses(
    targets: Sequence[DeployedTarget], probes: Sequence[Health], table: str, aws: Aws
) -> tuple[list[Status], Mapping[str, Counts]]:
    """Return the status of each target with its probe, and the counts of all ARNs.

    Raises:
        AwsError: AWS cannot be reached.
    """
    reports = health(targets, probes, aws)
    with aws_errors():
        outages = Breakers(table, lambda: aws.dynamodb).read()
        counters = Counters(table, lambda: aws.dynamodb)
        last, counts = counters.read_last(), counters.read()
    statuses = [
        Status(
            target,
            report,
            outages.get(target.arn),
            last.get(target.arn, Last()),
            counts.get(target.arn, Counts()),
        )
        for target, report in zip(targets, reports, strict=True)
    ]
    return statuses, counts


def read_unchecked(deployment: Deployed, aws: Aws) -> tuple[list[Status], Mapping[str, Counts]]:
    """Return the same of all targets without a health check, which would log in each time.

    Raises:
        AwsError: AWS does not answer.
    """
    targets = deployment.all_targets
    return read_statuses(targets, [Health()] * len(targets), deployment.state_table, aws)


class TargetStats(NamedTuple):
    """The statistics of one target; numbers of messages are None if SQS does not answer."""

    arn: str
    counts: Counts
    in_flight: int | None
    waiting: int | None
    state: State = "absent"


def target_stats(deployment: Deployed, aws: Aws) -> list[TargetStats]:
    """Return the statistics of a deployment's targets, and of removed ones with counts.

    Raises:
        AwsError: AWS does not answer.
    """
    statuses, counted = read_unchecked(deployment, aws)
    stats = {arn: TargetStats(arn, counts, 0, 0) for arn, counts in counted.items()}
    for status in statuses:
        arn, report = status.target.arn, status.health
        waiting = None if report.waiting is None else report.waiting - (report.in_flight or 0)
        state = status.condition.state
        stats[arn] = TargetStats(arn, status.events, report.in_flight, waiting, state)
    return [stats[arn] for arn in sorted(stats)]
