"""`bucketcast topic`: the topics that users made, as `radosgw-admin topic` shows them."""

from collections.abc import Sequence
from typing import Any, Final

import click
import msgspec

from bucketcast.cli.screen import Screen, shared
from bucketcast.control.sns.replies import endpoint
from bucketcast.errors import BucketcastError
from bucketcast.shapes import ceph
from bucketcast.store import deployed
from bucketcast.store.access import Aws, explained
from bucketcast.store.counters import Counters, Counts
from bucketcast.store.runtime.table import Table
from bucketcast.store.topics import waiting
from bucketcast.store.topics.items import Items
from bucketcast.store.topics.opened import topics_of
from bucketcast.store.topics.subscribed import subscribed
from bucketcast.topics.errors import TopicError
from bucketcast.topics.model import Topic, TopicArn

_COLUMNS: Final = ("ARN", "OWNER", "ENDPOINT", "PERSISTENT", "BUCKETS")
_ALL: Final = 1_000_000
_tenant = click.option("--tenant", default="", help="Whose the topic is.")


class NoSuchTopicError(BucketcastError):
    """There is no such topic, or nothing of it is kept here."""


@click.group()
def command() -> None:
    """Topics, which users make through the gateway: who has which, and what waits for them.

    With --json the fields are those of `radosgw-admin topic`.
    """


@command.command()
@click.option("--tenant", default=None, help="Only the topics of this tenant.")
@click.option("--uid", default=None, metavar="USER", help="Only the topics of this user.")
@click.option(
    "--max-entries", type=click.IntRange(min=1), default=_ALL, metavar="N", help="So many at most."
)
@click.option("--marker", default="", help="Go on behind where the last answer ended.")
@shared
@click.pass_obj
def ls(
    screen: Screen, *, tenant: str | None, uid: str | None, max_entries: int, marker: str
) -> None:
    """List topics: ARN, owner, endpoint, whether persistent, and the buckets that name them.

    \b
    Example:
      bucketcast topic ls --tenant acme --json
    """  # noqa: D301 - click reads the character
    aws = screen.aws()
    table = deployed.find(screen.stack, aws).rules_table
    with explained():
        found, after = Items(table, aws.dynamodb).page(
            tenant, max_entries, marker, lambda topic: uid in (None, topic.owner, topic.user)
        )
        buckets = subscribed(table, aws)
    documents = [_document(each, buckets.get((each.tenant, each.name), ())) for each in found]
    document: dict[str, Any] = {"topics": documents}
    if after:
        document |= {"truncated": True, "marker": after}
    rows = [
        (
            each.arn,
            each.user,
            each.endpoint or "-",
            "yes" if each.persistent else "no",
            ", ".join(shown["subscribed_buckets"]) or "-",
        )
        for each, shown in zip(found, documents, strict=True)
    ]
    screen.table(document, _COLUMNS, rows, "there is no such topic")
    if after and not screen.json:
        screen.note(f"there are more: --marker {after}")


@command.command()
@click.argument("name", metavar="NAME|ARN")
@_tenant
@shared
@click.pass_obj
def get(screen: Screen, name: str, *, tenant: str) -> None:
    """Show a topic; a login is not shown.

    \b
    Example:
      bucketcast topic get mytopic --tenant acme
    """  # noqa: D301 - click reads the character
    aws = screen.aws()
    table, topic = _found(screen, aws, name, tenant)
    with explained():
        buckets = subscribed(table, aws).get((topic.tenant, topic.name), ())
    document = _document(topic, buckets)
    flat = {**document, **document["dest"]}
    del flat["dest"]
    screen.answer(document, *(f"{key}: {value}" for key, value in flat.items()))


@command.command()
@click.argument("name", metavar="NAME|ARN")
@_tenant
@shared
@click.pass_obj
def rm(screen: Screen, name: str, *, tenant: str) -> None:
    """Delete a topic, with its queue and what waits there; one that is not there is no error.

    Notifications that name it stay, and their events go nowhere until it is made again.

    \b
    Example:
      bucketcast topic rm mytopic --tenant acme
    """  # noqa: D301 - click reads the character
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    arn = _arn(name, tenant)
    with explained():
        done = topics_of(there.stack, there.rules_table, aws).delete(arn, lambda _: None)
    said = f"Deleted {arn.name}" if done else f"There was no topic {arn.name}"
    screen.answer({"deleted": done}, said)


@command.command()
@click.argument("name", metavar="NAME|ARN")
@_tenant
@shared
@click.pass_obj
def stats(screen: Screen, name: str, *, tenant: str) -> None:
    """Show what waits for a persistent topic, and how many events were pushed and failed.

    Entries are SQS's messages, each of which may hold many events, with those in flight or between
    two tries. Failed are tries; dead are events that were given up.

    \b
    Example:
      bucketcast topic stats mytopic
    """  # noqa: D301 - click reads the character
    aws = screen.aws()
    table, topic = _found(screen, aws, name, tenant)
    with explained():
        held = waiting.count(_queue(screen, aws, table, topic), aws.sqs)
        counted = Counters(table, lambda: aws.dynamodb).read().get(topic.target_arn, Counts())
    entries = held.visible + held.hidden
    document = {
        "Topic Stats": {"Reservations": 0, "Entries": entries},
        "pushed": counted.sent,
        "failed": counted.failed,
        "dead": counted.dead,
    }
    said = f"{entries} messages wait, {held.hidden} of them in flight or between two tries"
    sent = f"{counted.sent} events pushed, {counted.failed} tries failed, {counted.dead} dead"
    screen.answer(document, said, sent)


@command.command()
@click.argument("name", metavar="NAME|ARN")
@_tenant
@click.option(
    "--max-entries",
    type=click.IntRange(min=1),
    default=_ALL,
    metavar="N",
    help="Look into so many messages at most.",
)
@shared
@click.pass_obj
def dump(screen: Screen, name: str, *, tenant: str, max_entries: int) -> None:
    """Show the events that wait for a persistent topic, as they would be sent.

    What is in flight or between two tries cannot be looked at, and is counted. SQS counts a look as
    a try.

    \b
    Example:
      bucketcast topic dump mytopic --json
    """  # noqa: D301 - click reads the character
    aws = screen.aws()
    table, topic = _found(screen, aws, name, tenant)
    with explained():
        queue = _queue(screen, aws, table, topic)
        hidden = waiting.count(queue, aws.sqs).hidden
        found = waiting.look(queue, aws.sqs, lambda seen: seen >= max_entries)
    records = [
        msgspec.to_builtins(ceph.record(one.event, topic.opaque_data)) for one in found.deliveries
    ]
    document = {
        "entries": [{"entry": {"event": record}} for record in records],
        "hidden_messages": hidden,
    }
    lines = [f"{one.event.name} {one.event.bucket}/{one.event.key}" for one in found.deliveries]
    screen.answer(document, *lines)
    if hidden and not screen.json:
        screen.note(f"{hidden} messages are in flight or between two tries")


def _arn(name: str, tenant: str) -> TopicArn:
    if name.startswith("arn:"):
        try:
            return TopicArn.parse(name)
        except TopicError as error:
            raise click.BadParameter(str(error)) from None
    return TopicArn("", tenant, name)


def _found(screen: Screen, aws: Aws, name: str, tenant: str) -> tuple[str, Topic]:
    """The rules' table and the topic."""
    arn = _arn(name, tenant)
    table = deployed.find(screen.stack, aws).rules_table
    with explained():
        topic = Items(table, aws.dynamodb).topic(arn)
    if topic is None:
        whose = f" of the tenant {arn.tenant}" if arn.tenant else ""
        raise NoSuchTopicError(f"no topic {arn.name}{whose}: `bucketcast topic ls` shows all")
    return table, topic


def _queue(screen: Screen, aws: Aws, table: str, topic: Topic) -> str:
    """The URL of its queue."""
    runtime = deployed.runtime(screen.stack, aws)
    made = Table(table, aws.dynamodb).target(topic.target_arn) if topic.target_arn else None
    if made is None or runtime is None:
        raise NoSuchTopicError(
            f"{topic.arn} has no queue: it is not persistent, or has no push-endpoint"
        )
    return runtime.url(made.queue)


def _document(topic: Topic, buckets: Sequence[str]) -> dict[str, Any]:
    """A topic in radosgw-admin's fields."""
    shown = endpoint(topic)
    return {
        "owner": topic.user,
        "name": topic.name,
        "dest": {
            "push_endpoint": shown["EndpointAddress"],
            "push_endpoint_args": shown["EndpointArgs"],
            "push_endpoint_topic": shown["EndpointTopic"],
            "stored_secret": shown["HasStoredSecret"],
            "persistent": shown["Persistent"],
            "persistent_queue": f"{topic.tenant}:{topic.name}" if topic.persistent else "",
            "time_to_live": shown["TimeToLive"],
            "max_retries": shown["MaxRetries"],
            "retry_sleep_duration": shown["RetrySleepDuration"],
        },
        "arn": topic.arn,
        "opaqueData": topic.opaque_data,
        "policy": topic.policy,
        "subscribed_buckets": list(buckets),
    }
