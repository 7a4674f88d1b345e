"""`bucketcast attach`: let a bucket's events come."""

import click

from bucketcast.access import PRICE
from bucketcast.cli import words
from bucketcast.cli.screen import Screen, shared
from bucketcast.store import deployed
from bucketcast.store.access_events import AccessEvents
from bucketcast.store.wired import Attached, Buckets, Via


@click.command()
@click.argument("bucket", type=words.bucket_name)
@click.option(
    "--via",
    type=click.Choice(["sqs", "eventbridge"]),
    default="sqs",
    show_default=True,
    help="How S3 sends its events; eventbridge costs $1.00 per million, and overlaps with nothing.",
)
@click.option(
    "--access-events",
    is_flag=True,
    help=f"Also Get, Head and the like as far as rules ask for them: CloudTrail's, {PRICE}.",
)
@click.option(
    "--trail",
    default="",
    metavar="NAME",
    help="A trail of CloudTrail to log them with; by default the deployment's own.",
)
@shared
@click.pass_obj
def command(screen: Screen, bucket: str, *, via: Via, access_events: bool, trail: str) -> None:
    """Let the events of a bucket that is there come to the deployment, without a deploy.

    One entry is added to the bucket's notifications, and all others stay as they are; where one
    of them takes the same events, which S3 allows to one entry only, it is named and nothing is
    changed. A bucket in bucketcast.toml is attached by the deploy, and changed there.

    S3 heeds a change after some minutes. Where the way changes, both are kept, and their events may
    come twice: attach the bucket the same way once more after the time that is said, and the old
    way goes.

    Which events go where is said by rules: `bucketcast event add`. With --access-events the trail's
    selectors follow them: what no rule asks for is not logged, and costs nothing.

    \b
    Example:
      bucketcast attach archive
      bucketcast attach archive --via eventbridge
      bucketcast attach archive --access-events --trail everything
    """  # noqa: D301 - click reads the character
    if trail and not access_events:
        raise click.UsageError("--trail is for --access-events")
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    buckets = Buckets(there, aws)
    attached = buckets.attach(bucket, via)
    changed = attached.changed
    if access_events:
        changed += AccessEvents(there, aws).on(bucket, buckets.ingress, trail)
    others = buckets.look(bucket).others
    document = {
        "bucket": bucket,
        "via": via,
        "changed": changed,
        "others": list(others),
        "both": attached.both,
        "sure": attached.switch.when,
    }
    screen.answer(
        document,
        f"Successfully attached {bucket} via {via}" if changed else f"{bucket} is attached already",
        *(f"  {change}" for change in changed),
        *_until(attached),
        *(f"  left as it was: {other}" for other in others),
    )


def _until(attached: Attached) -> list[str]:
    """What holds until S3 surely heeds the change."""
    when = attached.switch.when
    if attached.both:
        return [f"  both ways are in use, so that nothing is lost: attach it again after {when}"]
    return [f"  S3 surely heeds it from {when}"] if attached.changed else []
