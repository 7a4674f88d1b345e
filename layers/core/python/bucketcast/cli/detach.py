"""`bucketcast detach`: let a bucket's events come no more."""

import click

from bucketcast.cli import words
from bucketcast.cli.screen import Screen, shared
from bucketcast.store import deployed
from bucketcast.store.access import explained
from bucketcast.store.access_events import AccessEvents
from bucketcast.store.rules import Rules
from bucketcast.store.wired import Buckets


@click.command()
@click.argument("bucket", type=words.bucket_name)
@shared
@click.pass_obj
def command(screen: Screen, bucket: str) -> None:
    """Take out what `bucketcast attach` added; all else in the bucket's notifications stays.

    That S3 tells EventBridge of a bucket's events stays switched on: others may rely on it. So do
    the bucket's rules, and events that were received already go on.

    \b
    Example:
      bucketcast detach archive
    """  # noqa: D301 - click reads the character
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    buckets = Buckets(there, aws)
    by_deploy = bucket in there.access_events
    changed = [] if by_deploy else AccessEvents(there, aws).off(bucket, buckets.ingress)
    changed += buckets.detach(bucket)
    seen = buckets.look(bucket)
    with explained():
        rules = len(Rules(there.rules_table, aws.dynamodb).of(bucket))
    if rules and not screen.json:
        screen.note(
            f"note: {rules} rules of {bucket} stay; `bucketcast event rm {bucket} --force` "
            "removes them"
        )
    document = {"bucket": bucket, "changed": changed, "others": list(seen.others), "rules": rules}
    screen.answer(
        document,
        f"Successfully detached {bucket}",
        *(f"  {change}" for change in changed),
        *(f"  left as it was: {other}" for other in seen.others),
    )
