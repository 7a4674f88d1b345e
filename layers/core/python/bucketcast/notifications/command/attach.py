"""`bucketcast bucket attach`: connect an existing bucket."""

import click

from bucketcast.notifications import document as notifications
from bucketcast.notifications.aws.access_events import AccessEvents
from bucketcast.notifications.aws.attachments import Attachments, AttachResult, Via
from bucketcast.notifications.document import EVENTS, Part
from bucketcast.rules.access_events import PRICE
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared
from bucketcast.terminal.params import events


def notified_events(text: str) -> tuple[str, ...]:
    """Return the events that S3 notifies of; MinIO's words stand for some."""
    found = tuple(dict.fromkeys(events(text)))
    for name in found:
        if not notifications.is_notified(name):
            allowed = ", ".join(notifications.EVENTS)
            raise click.BadParameter(f"S3 does not notify of {name}; allowed are {allowed}")
    return found


@click.command()
@click.argument("bucket", type=params.bucket_name)
@click.option(
    "--via",
    type=click.Choice(["sqs", "eventbridge"]),
    default="sqs",
    show_default=True,
    help="How S3 delivers the events. eventbridge costs $1.00 per million events and never "
    "conflicts with other notifications.",
)
@click.option(
    "--event",
    "events",
    type=notified_events,
    metavar="EVENTS",
    help="Only these events, as in `event add`. [default: all]",
)
@click.option("--prefix", default="", help="Only events of keys that begin so.")
@click.option("--suffix", default="", help="Only events of keys that end so.")
@click.option(
    "--access-events",
    is_flag=True,
    help=f"Also deliver the read events that rules ask for, by CloudTrail ({PRICE}).",
)
@click.option(
    "--trail",
    default="",
    metavar="NAME",
    help="CloudTrail trail to use. [default: the deployment's own]",
)
@shared
def attach(  # noqa: PLR0913 - one for each option
    out: Output,
    bucket: str,
    *,
    via: Via,
    events: tuple[str, ...] | None,
    prefix: str,
    suffix: str,
    access_events: bool,
    trail: str,
) -> None:
    """Connect an existing bucket to the deployment, without a deploy.

    Adds one entry to the bucket's notifications and leaves the others alone. S3 sends an event to
    one entry only: if another entry already takes the same events, the command names it and changes
    nothing. Attach the rest then, with --event, --prefix or --suffix: rules, mirrors and topics
    never see the other events. Buckets in bucketcast.toml are connected by the deploy; change them
    there.

    A change takes effect in S3 after a few minutes. When --via changes, the old and the new entry
    are both kept meanwhile, and events may arrive twice: run the same command again after the time
    printed to remove the old one.

    Rules decide which events go where: see `bucketcast event add`. With --access-events the trail
    logs only the calls that some rule needs, so nothing else is billed.

    \b
    Example:
      bucketcast bucket attach archive
      bucketcast bucket attach archive --via eventbridge
      bucketcast bucket attach archive --event put,delete --prefix photos/
      bucketcast bucket attach archive --access-events --trail everything
    """  # noqa: D301 - click reads the character
    if trail and not access_events:
        raise click.UsageError("--trail is for --access-events")
    part = Part(events or EVENTS, prefix, suffix)
    if via == "eventbridge" and not part.is_whole:
        raise click.UsageError(
            "--event, --prefix and --suffix are for --via sqs: EventBridge never conflicts, so "
            "select with rules"
        )
    deployment, aws = out.deployed()
    buckets = Attachments(deployment, aws)
    attached = buckets.attach(bucket, via, part)
    changed = attached.changed
    if access_events:
        changed += AccessEvents(deployment, aws).on(bucket, buckets.ingress, trail)
    others = buckets.look(bucket).others
    document = {
        "bucket": bucket,
        "via": via,
        "part": None if part.is_whole else part._asdict(),
        "changed": changed,
        "others": list(others),
        "both": attached.both,
        "sure": attached.switch.when,
    }
    out.answer(
        document,
        f"Successfully attached {bucket} via {via}{_only(part)}"
        if changed
        else f"{bucket} is already attached",
        *(f"  {change}" for change in changed),
        *_until(attached),
        *(f"  unchanged: {other}" for other in others),
    )


def _only(part: Part) -> str:
    return "" if part.is_whole else f": {part}"


def _until(attached: AttachResult) -> list[str]:
    """Return when the change takes effect, as a line."""
    when = attached.switch.when
    if attached.both:
        return [f"  the old and the new entry are both active: attach it again after {when}"]
    return [f"  takes effect in S3 by {when}"] if attached.changed else []
