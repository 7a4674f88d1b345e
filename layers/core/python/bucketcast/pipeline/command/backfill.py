"""`bucketcast backfill`: send a bucket's existing objects to one target."""

import time
from collections.abc import Mapping

import click

from bucketcast.aws.clients import aws_errors
from bucketcast.destination import TargetArn
from bucketcast.notifications.aws.cutover import Cutovers
from bucketcast.pipeline.aws import Runs
from bucketcast.pipeline.command import jobs
from bucketcast.settings import types
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, counted, shared


@click.command()
@click.argument("bucket", type=params.bucket_name)
@click.option("--target", required=True, type=params.arn, metavar="ARN", help="The target.")
@jobs.options("backfill", without=frozenset({"target"}))
@click.option(
    "--resume",
    type=params.rule_name,
    metavar="RUN",
    help="Continue an earlier run that has ended; nothing is sent twice.",
)
@jobs.no_wait_option
@shared
def command(
    out: Output, *, bucket: str, target: TargetArn, resume: str | None, no_wait: bool, **values: str
) -> None:
    """Send a bucket's existing objects to a target, as if each had just been uploaded.

    Only objects that the target's rules match are sent. Uploads may continue meanwhile: in a mirror
    (format = namespace) a real event of an object always wins over its backfill event, whichever
    arrives first. Other targets get both in any order: the sequencer of a backfill event is 0.

    Right after `bucketcast bucket attach` the command is refused until the notification is surely
    active, because an object uploaded before that could be missed by both the events and the
    listing.

    \b
    Example:
      bucketcast backfill uploads --target arn:minio:sqs::mirror:postgresql
      bucketcast backfill uploads --target … --modified-after 2026-03-14T10:00Z \\
        --modified-before 2026-03-14T12:00Z
      bucketcast backfill uploads --target arn:minio:sqs::mirror:postgresql --resume RUN
    """  # noqa: D301 - click reads the character
    _check_bounds(values)
    deployment, aws = out.deployed()
    runs = Runs(deployment, aws)
    to = deployment.target(target)
    values = {"bucket": bucket, "target": to.arn, "queue": to.queue, **values}
    with aws_errors():
        Cutovers(deployment.state_table, aws.dynamodb).require(bucket, time.time())
    result = jobs.run_job(out, runs, "backfill", values, no_wait=no_wait, resume=resume)
    if result is None:
        return
    out.answer(
        result,
        f"{counted(result['events'], 'event')} for {target}: its rules match "
        f"{result['matched']:,} of {counted(result['objects'], 'object')} in {bucket}",
    )
    out.notes(result.get("notes", ()))


def _check_bounds(values: Mapping[str, str]) -> None:
    """Refuse options that no object can meet together.

    Raises:
        UsageError: the lower bound is not below the upper one.
    """
    after, before = values["modified_after"], values["modified_before"]
    if after and before and types.time(after) >= types.time(before):
        raise click.UsageError(f"--modified-after {after} is not before --modified-before {before}")
    least, most = values["min_size"], values["max_size"]
    if least and most and int(least) > int(most):
        raise click.UsageError(f"--min-size {least} is more than --max-size {most}")
