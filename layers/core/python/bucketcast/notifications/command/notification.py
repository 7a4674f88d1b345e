"""`bucketcast notification`: topic notifications, as radosgw-admin shows them."""

from typing import Any, Final

import click

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.deployment import Deployed
from bucketcast.errors import BucketcastError
from bucketcast.notifications import topic_configuration
from bucketcast.notifications import topic_configuration as notification
from bucketcast.notifications.command.trail import follow
from bucketcast.notifications.topic_configuration import Notification
from bucketcast.rules import Rule
from bucketcast.state.rules import Rules
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared

_COLUMNS: Final = ("ID", "TOPIC", "EVENTS", "FILTER")
_bucket = click.option("--bucket", type=params.bucket_name, required=True, metavar="NAME")


@click.group()
def command() -> None:
    """List and remove notifications: which events of a bucket go to which topic.

    Notifications are created through the gateway, with `PUT ?notification`. With --json the fields
    are those of `radosgw-admin notification`.
    """


@command.command()
@_bucket
@shared
def ls(out: Output, *, bucket: str) -> None:
    """List a bucket's notifications.

    \b
    Example:
      bucketcast notification ls --bucket uploads
    """  # noqa: D301 - click reads the character
    found = _of(bucket, *out.deployed())
    document = {"notifications": [topic_configuration.document(each) for each in found]}
    rows = [(each.id, each.topic, ",".join(each.events), _filter(each)) for each in found]
    out.table(document, _COLUMNS, rows, f"{bucket} has no topic notifications")


@command.command()
@_bucket
@click.option("--notification-id", "id_", required=True, metavar="ID")
@shared
def get(out: Output, *, bucket: str, id_: str) -> None:
    """Show one notification.

    \b
    Example:
      bucketcast notification get --bucket uploads --notification-id mynotif1
    """  # noqa: D301 - click reads the character
    found = _of(bucket, *out.deployed())
    named = [each for each in found if each.id == id_]
    if not named:
        raise BucketcastError(
            f"{bucket} has no notification {id_}; `bucketcast notification ls` lists them"
        )
    shown = named[0]
    lines = (
        f"Id: {shown.id}",
        f"TopicArn: {shown.topic}",
        f"Events: {','.join(shown.events)}",
        f"Filter: {_filter(shown) or '-'}",
    )
    out.answer(topic_configuration.document(shown), *lines)


@command.command()
@_bucket
@click.option("--notification-id", "id_", default="", metavar="ID", help="Only this one.")
@shared
def rm(out: Output, *, bucket: str, id_: str) -> None:
    """Remove one notification, or all of a bucket; a missing one is not an error.

    Rules for targets stay; remove them with `bucketcast event rm`.

    \b
    Example:
      bucketcast notification rm --bucket uploads --notification-id mynotif1
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    found = _of(bucket, deployment, aws)
    gone = [each.id for each in found if id_ in ("", each.id)]

    def stays(rule: Rule) -> bool:
        return not notification.is_notification(rule) or id_ not in ("", rule.name)

    with aws_errors():
        Rules(deployment.state_table, aws.dynamodb).change(
            bucket, lambda stored: [rule for rule in stored if stays(rule)]
        )
    follow(out, bucket, deployment, aws)
    lines = [f"Removed {each}" for each in gone] or ["No such notification"]
    out.answer({"bucket": bucket, "removed": gone}, *lines)


def _of(bucket: str, deployment: Deployed, aws: Aws) -> list[Notification]:
    """Return the bucket's notifications ordered by id, as RGW lists them."""
    with aws_errors():
        stored = Rules(deployment.state_table, aws.dynamodb).in_order(bucket)
    found = [
        notification.notification(rule) for rule in stored if notification.is_notification(rule)
    ]
    return sorted(found, key=lambda each: (each.id, each.topic))


def _filter(shown: Notification) -> str:
    parts: list[tuple[str, Any]] = [
        *shown.key,
        *shown.metadata,
        *((f"tag {name}", value) for name, value in shown.tags),
    ]
    return " ".join(f"{name}={value!r}" for name, value in parts)
