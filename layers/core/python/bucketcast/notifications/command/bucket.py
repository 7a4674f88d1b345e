"""`bucketcast bucket`: connect and disconnect existing buckets, and list connected ones."""

from collections.abc import Callable

import click

from bucketcast.notifications.aws.attachments import Attachments
from bucketcast.notifications.command.bucket_ls import ls
from bucketcast.notifications.command.filters import F
from bucketcast.notifications.document import Via
from bucketcast.notifications.not_sent import not_sent
from bucketcast.rules.sent_events import EVENTBRIDGE, EVENTS, WHOLE, Part, notified_events
from bucketcast.settings.types import csv
from bucketcast.state.rules import Rules
from bucketcast.terminal import hanging, params
from bucketcast.terminal.output import Output, shared, yes_option


@click.group()
def command() -> None:
    """Connect and disconnect existing buckets without a deploy; list connected ones."""


command.add_command(ls)


def _events(text: str) -> tuple[str, ...]:
    """Parse names of events that S3 notifies of, or MinIO's words for them."""
    events: list[str] = []
    for word in csv(text):
        try:
            events += notified_events(word)
        except ValueError as error:
            raise click.BadParameter(f"found '{word}'; allowed is {error}") from None
    return tuple(events)


def _key_end(name: str) -> Callable[[F], F]:
    help_ = f"Only keys with this {name}."
    return click.option(f"--{name}", type=params.key_part, metavar="TEXT", default="", help=help_)


@command.command()
@click.argument("bucket", type=params.bucket_name)
@click.option(
    "--via",
    type=click.Choice(["sqs", "eventbridge"]),
    default="sqs",
    show_default=True,
    help="How S3 delivers the events. eventbridge costs $1.00 per million events and never "
    "conflicts with other notifications.",
)
@params.event_option("Only these events, as in `event add`. [default: all]", _events)
@_key_end("prefix")
@_key_end("suffix")
@yes_option("Do not ask if the bucket's rules get fewer events.")
@shared
def attach(  # noqa: PLR0913 - an option each
    out: Output,
    bucket: str,
    *,
    via: Via,
    events: tuple[str, ...] | None,
    prefix: str,
    suffix: str,
    yes: bool,
) -> None:
    """Connect an existing bucket to the deployment, without a deploy.

    Adds one entry to the bucket's notifications and leaves the others alone. S3 sends an event to
    one entry only: if another entry already takes the same events, the command names it and changes
    nothing. Then attach the remaining events with --event, --prefix or --suffix: rules, mirrors and
    topics never get the others. Buckets in bucketcast.toml are connected by the deploy; change them
    there.

    A change takes effect in S3 after a few minutes. To change --via, attach the bucket by the new
    one, and detach it by the old one after the time printed: meanwhile events arrive twice.

    Rules decide which events go where: see `bucketcast event add`.

    \b
    Example:
      bucketcast bucket attach archive
      bucketcast bucket attach archive --via eventbridge
      bucketcast bucket attach archive --event put,delete --prefix photos/
    """  # noqa: D301 - click reads the character
    part = Part.of(events or EVENTS, prefix, suffix)
    if via == "eventbridge" and part != WHOLE:
        raise click.UsageError(
            "--event, --prefix and --suffix are for --via sqs: EventBridge never conflicts, so "
            "select with rules"
        )
    deployment, aws = out.deployed()
    attachments = Attachments(deployment, aws)
    rules = Rules(deployment.state_table, aws.dynamodb).active(bucket)
    staying = [each for each in attachments.read_status(bucket).parts if each == EVENTBRIDGE]
    fewer = via == "sqs" and not_sent(rules, [part, *staying], deployment.buckets)
    if fewer and not (yes or bucket in deployment.buckets):
        out.confirm(
            f"Attach {bucket}{hanging.named_by(rules)}, which then get fewer events?", fewer
        )
    changed = attachments.attach(bucket, via, part)
    status = attachments.read_status(bucket)
    document = {
        "bucket": bucket,
        "via": via,
        "part": None if part == WHOLE else part._asdict(),
        "changed": changed,
        "others": list(status.others),
        "both": status.via == "both",
        "sure": status.when,
    }
    out.answer(
        document,
        f"Successfully attached {bucket} via {via}{'' if part == WHOLE else f': {part}'}"
        if changed
        else f"{bucket} is already attached",
        *(f"  {change}" for change in changed),
        *([f"  takes effect in S3 by {status.when}"] if changed else []),
        *(["  events arrive twice: detach the other transport after that"] if status.twice else []),
        *(f"  unchanged: {other}" for other in status.others),
    )


@command.command()
@click.argument("bucket", type=params.bucket_name)
@click.option(
    "--via",
    type=click.Choice(["sqs", "eventbridge"]),
    help="Only this transport. [default: all]",
)
@yes_option("Do not ask if rules name the bucket and get no more events.")
@shared
def detach(out: Output, bucket: str, *, via: Via | None, yes: bool) -> None:
    """Remove the entry of `bucketcast bucket attach`; other notifications of the bucket stay.

    EventBridge delivery stays enabled on the bucket, since others may rely on it. The bucket's
    rules stay, and events that were already received are still delivered.

    \b
    Example:
      bucketcast bucket detach archive
      bucketcast bucket detach archive --via sqs
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    attachments = Attachments(deployment, aws)
    rules = Rules(deployment.state_table, aws.dynamodb).active(bucket)
    if rules and not (yes or via or bucket in deployment.buckets):
        question = f"Detach {bucket}{hanging.named_by(rules)}, which then get no events?"
        out.confirm(question, *hanging.lines(rules))
    changed = attachments.detach(bucket, via)
    status = attachments.read_status(bucket)
    if rules and not status.via:
        out.note(f"note: its rules stay; `bucketcast event rm {bucket}` removes them")
    document = {
        "bucket": bucket,
        "changed": changed,
        "others": list(status.others),
        "rules": len(rules),
    }
    out.answer(
        document,
        f"Successfully detached {bucket}{f' from {via}' if via else ''}",
        *(f"  {change}" for change in changed),
        *(f"  unchanged: {other}" for other in status.others),
    )
