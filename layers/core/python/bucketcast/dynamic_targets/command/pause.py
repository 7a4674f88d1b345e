"""`bucketcast target pause` and `resume`."""

from typing import Any

import click

from bucketcast.deployment import pauses
from bucketcast.destination import TargetArn, TopicArn
from bucketcast.limits import (
    DAY_MS,
    DEAD_DAYS,
    LONGEST_DELAY_SECONDS,
    LONGEST_OUTAGE_PAUSE_SECONDS,
    TERM_DAYS,
)
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared
from bucketcast.terminal.times import moment, moment_or_none

_target = click.argument("arn", metavar="TARGET", type=params.target_or_topic)


@click.command()
@_target
@shared
def pause(out: Output, arn: TargetArn | TopicArn) -> None:
    """Pause a target, or a persistent topic by its ARN: its events wait.

    Batches in flight are finished; nothing else is sent until `target resume`, even after a deploy.
    Events wait 13 days; then they go to the dead-letter queue, with the pause as the reason.
    Pausing a paused target changes nothing.

    \b
    Example:
      bucketcast target pause webhook:primary
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    target = deployment.target(arn)
    change = pauses.pause(target, deployment, aws)
    deadline = change.since + TERM_DAYS * DAY_MS
    document: dict[str, Any] = {
        "arn": target.arn,
        "paused": True,
        "since": moment(change.since),
        "changed": change.changed,
        "dead_letters_from": moment(deadline),
        "unconfirmed": change.unconfirmed,
    }
    first = "Paused" if change.changed else f"Already paused since {moment(change.since)}:"
    explanation = (
        f"Events wait for {TERM_DAYS} days; the first ones are dead-lettered from "
        f"{moment(deadline)}, or earlier if they waited before, and kept for {DEAD_DAYS} more days."
    )
    if change.unconfirmed:
        out.note(f"note: its function did not confirm it: {change.unconfirmed}")
    out.answer(document, f"{first} {target.name}", explanation)


@click.command()
@_target
@shared
def resume(out: Output, arn: TargetArn | TopicArn) -> None:
    """Resume a paused target or topic.

    New events are sent at once, waiting ones within a minute; those of a topic with limits
    (time_to_live, max_retries, retry_sleep_duration) within 15 minutes. Resuming a target that is
    not paused changes nothing.

    \b
    Example:
      bucketcast target resume webhook:primary
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    target = deployment.target(arn)
    paused = pauses.resume(target, deployment, aws)
    since = moment_or_none(paused)
    document = {"arn": target.arn, "paused": False, "since": since, "changed": paused > 0}
    if not paused:
        out.answer(document, f"{target.name} is not paused")
        return
    out.answer(
        document,
        f"Resumed {target.name}, paused since {since}; waiting events come within "
        f"{LONGEST_OUTAGE_PAUSE_SECONDS} s, large batches of them within "
        f"{LONGEST_DELAY_SECONDS // 60} minutes",
    )
