"""`bucketcast bucket detach`: disconnect a bucket."""

import click

from bucketcast.aws.clients import aws_errors
from bucketcast.notifications.aws.access_events import AccessEvents
from bucketcast.notifications.aws.attachments import Attachments
from bucketcast.state.rules import Rules
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared


@click.command()
@click.argument("bucket", type=params.bucket_name)
@shared
def detach(out: Output, bucket: str) -> None:
    """Remove what `bucketcast bucket attach` added; other notifications of the bucket stay.

    EventBridge delivery stays enabled on the bucket, since others may rely on it. The bucket's
    rules stay, and events that were already received are still delivered.

    \b
    Example:
      bucketcast bucket detach archive
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    buckets = Attachments(deployment, aws)
    by_deploy = bucket in deployment.access_events
    changed = [] if by_deploy else AccessEvents(deployment, aws).off(bucket, buckets.ingress)
    changed += buckets.detach(bucket)
    seen = buckets.look(bucket)
    with aws_errors():
        rules = len(Rules(deployment.state_table, aws.dynamodb).of(bucket))
    if rules:
        out.note(
            f"note: {rules} rules of {bucket} stay; remove them with "
            f"`bucketcast event rm {bucket} --force`"
        )
    document = {"bucket": bucket, "changed": changed, "others": list(seen.others), "rules": rules}
    out.answer(
        document,
        f"Successfully detached {bucket}",
        *(f"  {change}" for change in changed),
        *(f"  unchanged: {other}" for other in seen.others),
    )
