"""`bucketcast topic stats`: what waits in a topic's queue."""

import click

from bucketcast.aws.clients import aws_errors
from bucketcast.delivery.queue import depth
from bucketcast.state.counters import Counters, Counts
from bucketcast.terminal.output import Output, counted, shared
from bucketcast.topics.command.lookup import read_topic, tenant_option, topic_arn


@click.command()
@click.argument("name", metavar="NAME|ARN")
@tenant_option
@shared
def stats(out: Output, name: str, *, tenant: str) -> None:
    """Show the backlog of a persistent topic, and how many events were pushed and failed.

    The backlog is what SQS counts: messages, each of one or many events, that can be received, are
    in flight, or are delayed until their next attempt; and those in the dead-letter queue. Failed
    counts attempts; dead counts events that were given up.

    \b
    Example:
      bucketcast topic stats mytopic
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    arn = topic_arn(name, tenant)
    read_topic(arn, deployment, aws)
    target = deployment.target(arn)
    with aws_errors():
        waiting = depth(target.queue, aws.sqs)
        letters = depth(target.dead, aws.sqs).all
        totals = Counters(deployment.state_table, lambda: aws.dynamodb).read()
    counts = totals.get(target.arn, Counts())
    document = {
        "Topic Stats": {"Entries": waiting.all},
        "messages": waiting.all,
        **waiting._asdict(),
        "dead_letters": letters,
        "pushed": counts.sent,
        "failed": counts.failed,
        "dead": counts.dead,
    }
    out.answer(
        document,
        f"{counted(waiting.all, 'message')} waiting: {waiting.visible:,} visible, "
        f"{waiting.in_flight:,} in flight, {waiting.delayed:,} delayed",
        f"{counted(letters, 'message')} in the dead-letter queue",
        f"{counted(counts.sent, 'event')} pushed, {counted(counts.failed, 'failed attempt')}, "
        f"{counts.dead:,} dead",
    )
