"""`bucketcast target pause`, `resume`: let a target's events wait, and go on."""

from typing import Any

import click

from bucketcast.deployment import pauses
from bucketcast.destination import Destination, TargetArn, TopicArn
from bucketcast.limits import DAY_MS, DEAD_DAYS, LONGEST_PAUSED, TERM_DAYS
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared
from bucketcast.terminal.times import moment


def target_or_topic(text: str) -> TargetArn | TopicArn:
    """Return a target, given as ARN or `KIND:ID`, or a topic."""
    named = Destination.of(text)
    return named if isinstance(named, TopicArn) else params.target_arn(text)


@click.command()
@click.argument("arn", type=target_or_topic)
@shared
def pause(out: Output, arn: TargetArn | TopicArn) -> None:
    """Pause a target or a persistent topic, by ARN or KIND:ID: its events wait.

    Batches in flight are finished; nothing else is sent until `target resume`, also after a deploy.
    Events wait 13 days; then they go to the dead-letter queue, with the pause as the reason. A
    paused target that is paused again stays as it is.

    \b
    Example:
      bucketcast target pause arn:minio:sqs::primary:webhook
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    done = pauses.pause(deployment.target(arn), deployment, aws)
    until = done.since + TERM_DAYS * DAY_MS
    document: dict[str, Any] = {
        "arn": done.target.arn,
        "paused": True,
        "since": moment(done.since),
        "changed": done.changed,
        "dead_letters_from": moment(until),
        "unconfirmed": done.unconfirmed,
    }
    first = "Paused" if done.changed else f"Already paused since {moment(done.since)}:"
    rest = (
        f"Events wait for {TERM_DAYS} days; those that came first are dead-lettered from "
        f"{moment(until)}, or earlier if they waited before, and kept for {DEAD_DAYS} more days."
    )
    if done.unconfirmed:
        out.note(f"note: its function did not confirm it: {done.unconfirmed}")
    out.answer(document, f"{first} {done.target.arn}", rest)


@click.command()
@click.argument("arn", type=target_or_topic)
@shared
def resume(out: Output, arn: TargetArn | TopicArn) -> None:
    """Resume a paused target or topic, by ARN or KIND:ID.

    New events are sent at once, waiting ones within a minute; those of a topic with limits
    (time_to_live, max_retries, retry_sleep_duration) within 20 minutes. A target that is not paused
    stays as it is.

    \b
    Example:
      bucketcast target resume arn:minio:sqs::primary:webhook
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    done = pauses.resume(deployment.target(arn), deployment, aws)
    since = moment(done.since) if done.changed else None
    document = {"arn": done.target.arn, "paused": False, "since": since, "changed": done.changed}
    if not done.changed:
        out.answer(document, f"{done.target.arn} is not paused")
        return
    soon = LONGEST_PAUSED
    out.answer(
        document,
        f"Resumed {done.target.arn}, paused since {since}; waiting events come within {soon} s",
    )
