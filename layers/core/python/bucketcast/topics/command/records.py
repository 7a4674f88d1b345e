"""`bucketcast topic ls`, `get` and `rm`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.destination import TopicArn
from bucketcast.state.rules import Rules
from bucketcast.terminal.output import Output, shared
from bucketcast.topics.api.responses import endpoint
from bucketcast.topics.aws.factory import topics_of
from bucketcast.topics.aws.table import TopicTable
from bucketcast.topics.command.lookup import read_topic, tenant_option, topic_arn
from bucketcast.topics.model import Topic

_COLUMNS: Final = ("ARN", "OWNER", "ENDPOINT", "PERSISTENT", "BUCKETS")
_ALL: Final = 1_000_000


@click.command()
@click.option("--tenant", default=None, help="Only the topics of this tenant.")
@click.option("--uid", default=None, metavar="USER", help="Only the topics of this user.")
@click.option(
    "--max-entries", type=click.IntRange(min=1), default=_ALL, metavar="N", help="Return at most N."
)
@click.option("--marker", default="", help="Continue after this marker of the previous answer.")
@shared
def ls(out: Output, *, tenant: str | None, uid: str | None, max_entries: int, marker: str) -> None:
    """List topics: ARN, owner, endpoint, whether persistent, and their buckets.

    \b
    Example:
      bucketcast topic ls --tenant acme --json
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    with aws_errors():
        found, after = TopicTable(deployment.state_table, aws.dynamodb).page(
            tenant, max_entries, marker, lambda topic: uid in (None, topic.owner, topic.user)
        )
        buckets = _buckets_by_topic(deployment.state_table, aws)
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
    out.table(document, _COLUMNS, rows, "no topics found")
    if after:
        out.note(f"more topics: --marker {after}")


@click.command()
@click.argument("name", metavar="NAME|ARN")
@tenant_option
@shared
def get(out: Output, name: str, *, tenant: str) -> None:
    """Show a topic, without its password.

    \b
    Example:
      bucketcast topic get mytopic --tenant acme
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    topic = read_topic(topic_arn(name, tenant), deployment, aws)
    with aws_errors():
        buckets = _buckets_by_topic(deployment.state_table, aws).get((topic.tenant, topic.name), ())
    document = _document(topic, buckets)
    flat = {**document, **document["dest"]}
    del flat["dest"]
    out.answer(document, *(f"{key}: {value}" for key, value in flat.items()))


@click.command()
@click.argument("name", metavar="NAME|ARN")
@tenant_option
@shared
def rm(out: Output, name: str, *, tenant: str) -> None:
    """Delete a topic, its queue and the events in it; a missing topic is not an error.

    Notifications that name it stay; their events are dropped until the topic is created again.

    \b
    Example:
      bucketcast topic rm mytopic --tenant acme
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    arn = topic_arn(name, tenant)
    with aws_errors():
        done = topics_of(deployment.stack, deployment.state_table, aws).delete(arn, lambda _: None)
    said = f"Deleted {arn.name}" if done else f"No such topic: {arn.name}"
    out.answer({"deleted": done}, said)


def _document(topic: Topic, buckets: Sequence[str]) -> dict[str, Any]:
    """Return a topic in radosgw-admin's fields."""
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


def _buckets_by_topic(table: str, aws: Aws) -> Mapping[tuple[str, str], list[str]]:
    """Return the buckets' names by tenant and name of a topic; each bucket's rules are read."""
    pages = aws.s3.get_paginator("list_buckets").paginate()
    names = [each["Name"] for page in pages for each in page["Buckets"]]
    rules = Rules(table, aws.dynamodb)
    found: dict[tuple[str, str], list[str]] = {}
    for bucket in sorted(rules.versions(names)):
        for to in {rule.to for rule in rules.in_order(bucket)}:
            if isinstance(to, TopicArn):
                found.setdefault((to.tenant, to.name), []).append(bucket)
    return found
