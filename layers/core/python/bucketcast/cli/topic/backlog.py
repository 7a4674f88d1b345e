"""`bucketcast topic stats` and `dump`: what waits in a topic's queue."""

from contextlib import ExitStack, closing
from functools import partial
from itertools import islice
from typing import Any

import click
import msgspec

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.aws.counters import Counters, Counts
from bucketcast.aws.deployed import Deployed
from bucketcast.aws.runtime.table import Table
from bucketcast.aws.topics import backlog
from bucketcast.aws.topics.delivery_stop import is_stopped, stopped, until_visible
from bucketcast.aws.topics.stored_events import StoredEvents
from bucketcast.cli.output import Output, counted, shared
from bucketcast.cli.topic_lookup import find_topic, tenant_option, without_queue
from bucketcast.delivery.envelope import Delivery
from bucketcast.queues.depth import depth
from bucketcast.shapes import ceph
from bucketcast.topics.model import Topic
from bucketcast.topics.subscription import name_of


@click.command()
@click.argument("name", metavar="NAME|ARN")
@tenant_option
@shared
def stats(out: Output, name: str, *, tenant: str) -> None:
    """Show the backlog of a persistent topic, and how many events were pushed and failed.

    Entries are events and Size the bytes they take in the queue, including those in flight or
    waiting for a retry; both are close estimates. Failed counts attempts; dead counts events that
    were given up. The events stored for each subscription are counted by reading them.

    \b
    Example:
      bucketcast topic stats mytopic
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    topic = find_topic(name, tenant, deployment, aws)
    with aws_errors():
        pulled = _pulled(topic, deployment, aws)
        counters = Counters(deployment.rules_table, lambda: aws.dynamodb)
        content, stop = backlog.Content(0, 0, 0), False
        if topic.target_arn or not pulled:
            queue = _queue(topic, deployment, aws)
            content = backlog.content(queue, aws.sqs, counters)
            stop = is_stopped(queue, aws.sqs, aws.mappings)
        counts = counters.read().get(topic.target_arn, Counts())
    document = {
        "Topic Stats": {"Reservations": 0, "Size": content.size, "Entries": content.events},
        "messages": content.messages,
        "pushed": counts.sent,
        "failed": counts.failed,
        "dead": counts.dead,
        "stopped": stop,
    }
    if pulled:
        document["subscriptions"] = [{"name": name, "entries": number} for name, number in pulled]
    stored = [
        f"{counted(number, 'event')} stored for the subscription {name}" for name, number in pulled
    ]
    waiting = f"{counted(content.events, 'event')} waiting"
    size = f"{counted(content.size, 'byte')} in {counted(content.messages, 'message')}"
    pushed = f"{counted(counts.sent, 'event')} pushed"
    failed = f"{counted(counts.failed, 'failed attempt')}, {counts.dead:,} dead"
    out.answer(document, f"{waiting}, {size}", f"{pushed}, {failed}", *stored)
    if stop:
        out.note(
            "the delivery is stopped by `topic dump --wait`: if none is running, one was killed, "
            f"and `bucketcast topic dump {name} --wait 1` starts the delivery again"
        )


@click.command()
@click.argument("name", metavar="NAME|ARN")
@tenant_option
@click.option(
    "--max-entries",
    type=click.IntRange(min=1),
    default=None,
    metavar="N",
    help="Show at most N events.",
)
@click.option(
    "--wait",
    type=click.IntRange(min=1, max=3_600),
    metavar="SECONDS",
    help="Stop the delivery, and wait up to SECONDS for the events of a retry.",
)
@shared
def dump(out: Output, name: str, *, tenant: str, max_entries: int | None, wait: int | None) -> None:
    """Show the queued events of a persistent topic, as they would be sent.

    Messages in flight or waiting for a retry cannot be read and are only counted, unless --wait
    stops the delivery until this command ends. SQS counts each read as a receive.

    \b
    Examples:
      bucketcast topic dump mytopic --json
      bucketcast topic dump mytopic --wait 300
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    topic = find_topic(name, tenant, deployment, aws)
    with aws_errors(), ExitStack() as delivery:
        queue = _queue(topic, deployment, aws)
        if wait:
            out.note(
                f"{topic.name}: delivery stops until this ends; if it is killed, run it again",
                always=True,
            )
            delivery.enter_context(stopped(queue, aws.sqs, aws.mappings))
            until_visible(queue, aws.sqs, wait, partial(_waits, out))
        hidden = depth(queue, aws.sqs).hidden
        with closing(backlog.waiting(queue, aws.sqs)) as events:
            some = islice(events, max_entries)
            if out.json:
                entries = ({"entry": {"event": _record(one, topic)}} for one in some)
                out.stream("entries", entries, {"hidden_messages": hidden})
            else:
                for one in some:
                    out.line(f"{one.event.name} {one.event.bucket}/{one.event.key}")
    if hidden:
        out.note(f"{counted(hidden, 'more message')} in flight or waiting for a retry")


def _waits(out: Output, hidden: int) -> None:
    """Say how many messages are awaited."""
    out.note(f"  {counted(hidden, 'message')} in flight or waiting for a retry", always=True)


def _queue(topic: Topic, deployment: Deployed, aws: Aws) -> str:
    """Return the URL of a topic's queue."""
    table = Table(deployment.rules_table, aws.dynamodb)
    made = table.target(topic.target_arn) if topic.target_arn else None
    if made is None or deployment.runtime is None:
        raise without_queue(topic)
    return deployment.runtime.url(made.queue)


def _record(one: Delivery, topic: Topic) -> Any:
    return msgspec.to_builtins(ceph.record(one.event, topic.opaque_data))


def _pulled(topic: Topic, deployment: Deployed, aws: Aws) -> list[tuple[str, int]]:
    """Return the name of each subscription, and how many events are stored for it."""
    runtime = deployment.runtime
    if runtime is None or not runtime.pull:
        return []
    events = StoredEvents(runtime.pull, aws.dynamodb, runtime.events_retention_days)
    return [(name_of(each), events.count(each)) for each in topic.subscriptions]
