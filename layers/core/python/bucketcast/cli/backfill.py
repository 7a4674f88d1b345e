"""`bucketcast backfill`: a bucket's objects as events, to one target."""

import time

import click

from bucketcast.arn import Arn
from bucketcast.cli import running, words
from bucketcast.cli.screen import Screen, shared
from bucketcast.store import deployed
from bucketcast.store.access import explained
from bucketcast.store.pipeline import Runs
from bucketcast.store.switches import Switches


@click.command()
@click.argument("bucket", type=words.bucket_name)
@click.option("--target", required=True, type=words.arn, metavar="ARN", help="The target.")
@running.options("backfill", but=frozenset({"target"}))
@click.option(
    "--resume",
    type=words.rule_name,
    metavar="RUN",
    help="Go on with an earlier run, which sends nothing twice.",
)
@running.waiting
@shared
@click.pass_obj
def command(
    screen: Screen, /, *, bucket: str, target: Arn, resume: str | None, no_wait: bool, **values: str
) -> None:
    """Send what a bucket holds already to a target, as if each object were put now.

    It is refused while S3 may not heed yet how the bucket was attached: what is put then could be
    missed both by the events and by the listing.

    The target's rules choose, as for all events. Any real event of an object wins over these,
    whichever comes first, so that uploads may go on meanwhile.

    \b
    Example:
      bucketcast backfill uploads --target arn:minio:sqs::mirror:postgresql
      bucketcast backfill uploads --target arn:minio:sqs::mirror:postgresql --resume RUN
    """  # noqa: D301 - click reads the character
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    runs = Runs(there, aws)
    given = {"bucket": bucket, "target": running.deployed_target(there, target).arn, **values}
    with explained():
        Switches(there.rules_table, aws.dynamodb).demand(bucket, time.time())
    done = running.finish(screen, runs, "backfill", given, no_wait=no_wait, resume=resume)
    if done.result is None:
        running.answer_started(screen, done)
        return
    result = done.result
    screen.answer(
        {"run": done.run, "link": done.link, **result},
        f"{result['events']:,} events for {target}: of {result['objects']:,} objects in {bucket} "
        f"its rules take {result['matched']:,}",
    )
    running.notes(screen, result)
