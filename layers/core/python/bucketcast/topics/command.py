"""`bucketcast topic`: list, show and remove topics, as `radosgw-admin topic` does."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Final

import click

from bucketcast.aws.clients import Aws
from bucketcast.delivery.queue import Queue
from bucketcast.deployment import Deployed
from bucketcast.destination import TopicArn
from bucketcast.errors import BucketcastError
from bucketcast.state.counters import Counters, Counts
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.items import Topic
from bucketcast.state.rules import Rules
from bucketcast.terminal import hanging
from bucketcast.terminal.output import Output, counted, shared, yes_option
from bucketcast.topics.api.responses import INHERITED, endpoint
from bucketcast.topics.aws.topics import topics_of
from bucketcast.topics.errors import TopicError, require_name

_COLUMNS: Final = ("ARN", "OWNER", "ENDPOINT", "PERSISTENT", "BUCKETS")


def _topic(function: Callable[..., None]) -> Callable[..., None]:
    """Let a command take a topic, as here or as `radosgw-admin topic` does; it gets the ARN."""

    @click.argument("name", metavar="NAME|ARN", default="")
    @click.option("--topic", default="", metavar="NAME", help="The name, as in radosgw-admin.")
    @click.option("--tenant", default="", metavar="TENANT", help="Tenant of the topic.")
    @wraps(function)
    def named(*given: Any, name: str, topic: str, tenant: str, **options: Any) -> None:
        if bool(name) == bool(topic):
            raise click.UsageError("give one topic: NAME, an ARN, or --topic NAME")
        function(*given, arn=_topic_arn(name or topic, tenant), **options)

    return named


@click.group()
def command() -> None:
    """List and remove topics, and show their backlog. Users create topics through the gateway.

    With --json the fields are those of `radosgw-admin topic`.
    """


@command.command()
@click.option("--tenant", default=None, help="Only the topics of this tenant.")
@click.option("--uid", default=None, metavar="USER", help="Only the topics of this user.")
@shared
def ls(out: Output, *, tenant: str | None, uid: str | None) -> None:
    """List topics: ARN, owner, endpoint, whether persistent, and their buckets.

    \b
    Example:
      bucketcast topic ls --tenant acme --json
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    table = Table(deployment.state_table, aws.dynamodb)
    topics = sorted(
        (topic for topic in table.topics(tenant) if uid in (None, topic.owner, topic.user)),
        key=lambda topic: (topic.tenant, topic.name),
    )
    buckets = _buckets_by_topic(deployment.state_table, aws)
    documents = [_document(topic, buckets.get((topic.tenant, topic.name), ())) for topic in topics]
    rows = [
        (
            topic.arn,
            topic.user,
            topic.endpoint or "-",
            "yes" if topic.persistent else "no",
            ", ".join(document["subscribed_buckets"]) or "-",
        )
        for topic, document in zip(topics, documents, strict=True)
    ]
    out.table({"topics": documents}, _COLUMNS, rows, "no topics found")


@command.command()
@_topic
@shared
def get(out: Output, *, arn: TopicArn) -> None:
    """Show a topic, without its password.

    \b
    Example:
      bucketcast topic get mytopic --tenant acme
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    topic = _read_topic(arn, deployment, aws)
    buckets = _buckets_by_topic(deployment.state_table, aws).get((topic.tenant, topic.name), ())
    document = _document(topic, buckets)
    flat = {**document, **document["dest"]}
    del flat["dest"]
    out.answer(document, *(f"{key}: {_text(value)}" for key, value in flat.items()))


@command.command()
@_topic
@yes_option("Do not ask before a queue is deleted with its events, or if rules name the topic.")
@shared
def rm(out: Output, *, arn: TopicArn, yes: bool) -> None:
    """Delete a topic, its queue and the events in it; a missing topic is not an error.

    Notifications that name it stay; their events are dropped until the topic is created again.

    \b
    Example:
      bucketcast topic rm mytopic --tenant acme
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    topic = Table(deployment.state_table, aws.dynamodb).topic(arn)
    naming = hanging.rules_naming(arn, Rules(deployment.state_table, aws.dynamodb))
    if topic and (topic.persistent or naming) and not yes:
        queued = " and all events that wait in its queue" if topic.persistent else ""
        question = f"Delete the topic {topic.arn}{hanging.named_by(naming)}{queued}?"
        out.confirm(question, *hanging.lines(naming))
    deleted = topics_of(deployment.stack, deployment.state_table, aws).delete(arn, lambda _: None)
    message = f"Deleted {arn.name}" if deleted else f"No such topic: {arn.name}"
    out.answer({"deleted": deleted}, message)


@command.command()
@_topic
@shared
def stats(out: Output, *, arn: TopicArn) -> None:
    """Show the backlog of a persistent topic, and its counts of events.

    The backlog counts SQS messages, each with one or more events: visible, in flight, delayed until
    their next attempt, or in the dead-letter queue. Failed counts attempts; dead counts
    dead-lettered events.

    \b
    Example:
      bucketcast topic stats mytopic
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    topic = _read_topic(arn, deployment, aws)
    if not topic.queue:
        reason = "has no push-endpoint" if topic.persistent else "is not persistent"
        raise BucketcastError(f"the topic {topic.name} {reason}: it has no queue")
    target = deployment.target(arn)
    waiting = Queue(target.queue, aws.sqs).depth
    letters = Queue(target.dead, aws.sqs).depth.all
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


def _text(value: Any) -> str:
    """Return the value of a field, a text, truth value or list, for people."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = value if isinstance(value, str) else ", ".join(value)
    return "-" if text in ("", INHERITED) else text


def _topic_arn(name: str, tenant: str) -> TopicArn:
    if name.startswith("arn:"):
        try:
            return TopicArn.parse(name)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="NAME|ARN") from None
    try:
        require_name(name)
    except TopicError as error:
        raise click.BadParameter(str(error), param_hint="NAME|ARN") from None
    return TopicArn("", tenant, name)


def _read_topic(arn: TopicArn, deployment: Deployed, aws: Aws) -> Topic:
    """Read a topic.

    Raises:
        BucketcastError: it does not exist.
    """
    topic = Table(deployment.state_table, aws.dynamodb).topic(arn)
    if topic is None:
        whose = f" of the tenant {arn.tenant}" if arn.tenant else ""
        raise BucketcastError(f"no topic {arn.name}{whose}; `bucketcast topic ls` lists them")
    return topic


def _document(topic: Topic, buckets: Sequence[str]) -> dict[str, Any]:
    """Return a topic with radosgw-admin's fields."""
    fields = endpoint(topic)
    return {
        "owner": topic.user,
        "name": topic.name,
        "dest": {
            "push_endpoint": fields["EndpointAddress"],
            "push_endpoint_args": fields["EndpointArgs"],
            "push_endpoint_topic": fields["EndpointTopic"],
            "stored_secret": fields["HasStoredSecret"],
            "persistent": fields["Persistent"],
            "persistent_queue": f"{topic.tenant}:{topic.name}" if topic.persistent else "",
            "time_to_live": fields["TimeToLive"],
            "max_retries": fields["MaxRetries"],
            "retry_sleep_duration": fields["RetrySleepDuration"],
        },
        "arn": topic.arn,
        "opaqueData": topic.opaque_data,
        "policy": topic.policy,
        "subscribed_buckets": list(buckets),
    }


def _buckets_by_topic(table: str, aws: Aws) -> Mapping[tuple[str, str], list[str]]:
    """Read each bucket's rules and return the bucket names by tenant and name of a topic."""
    buckets: dict[tuple[str, str], dict[str, None]] = {}
    for rule in Rules(table, aws.dynamodb).active():
        if isinstance(rule.to, TopicArn):
            buckets.setdefault((rule.to.tenant, rule.to.name), {})[rule.bucket] = None
    return {topic: list(names) for topic, names in buckets.items()}
