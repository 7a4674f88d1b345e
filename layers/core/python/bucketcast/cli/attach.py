"""`bucketcast attach`: let a bucket's events come."""

import click

from bucketcast.cli import words
from bucketcast.cli.screen import Screen, shared
from bucketcast.store import deployed
from bucketcast.store.wired import Buckets, Via


@click.command()
@click.argument("bucket", type=words.bucket_name)
@click.option(
    "--via",
    type=click.Choice(["sqs", "eventbridge"]),
    default="sqs",
    show_default=True,
    help="How S3 sends its events; eventbridge costs $1.00 per million, and overlaps with nothing.",
)
@shared
@click.pass_obj
def command(screen: Screen, bucket: str, *, via: Via) -> None:
    """Let the events of a bucket that is there come to the deployment, without a deploy.

    One entry is added to the bucket's notifications, and all others stay as they are; where one
    of them takes the same events, which S3 allows to one entry only, it is named and nothing is
    changed. A bucket in bucketcast.toml is attached by the deploy, and changed there.

    Which events go where is said by rules: `bucketcast event add`.

    \b
    Example:
      bucketcast attach archive
      bucketcast attach archive --via eventbridge
    """  # noqa: D301 - click reads the character
    aws = screen.aws()
    buckets = Buckets(deployed.find(screen.stack, aws), aws)
    changed = buckets.attach(bucket, via)
    others = buckets.look(bucket).others
    document = {"bucket": bucket, "via": via, "changed": changed, "others": list(others)}
    screen.answer(
        document,
        f"Successfully attached {bucket} via {via}" if changed else f"{bucket} is attached already",
        *(f"  {change}" for change in changed),
        *(f"  left as it was: {other}" for other in others),
    )
