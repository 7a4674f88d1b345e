"""`bucketcast notification`: topic notifications, with radosgw-admin's fields."""

from typing import Any, Final

import click

from bucketcast.aws.clients import Aws
from bucketcast.deployment import Deployed
from bucketcast.errors import BucketcastError
from bucketcast.notifications.topic_configuration import (
    Notification,
    document,
    is_notification,
    notification,
)
from bucketcast.rules import Rule
from bucketcast.state.rules import Rules
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared, yes_option

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
    notifications = _read(bucket, *out.deployed())
    answer = {"notifications": list(map(document, notifications))}
    rows = [
        (entry.id, entry.topic, ",".join(entry.events), _filter(entry)) for entry in notifications
    ]
    out.table(answer, _COLUMNS, rows, f"{bucket} has no topic notifications")


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
    notifications = _read(bucket, *out.deployed())
    matching = [entry for entry in notifications if entry.id == id_]
    if not matching:
        raise BucketcastError(
            f"{bucket} has no notification {id_}; `bucketcast notification ls` lists them"
        )
    found = matching[0]
    lines = (
        f"Id: {found.id}",
        f"TopicArn: {found.topic}",
        f"Events: {','.join(found.events)}",
        f"Filter: {_filter(found) or '-'}",
    )
    out.answer(document(found), *lines)


@command.command()
@_bucket
@click.option("--notification-id", "id_", default="", metavar="ID", help="Only this one.")
@yes_option("Do not ask before several are removed.")
@shared
def rm(out: Output, *, bucket: str, id_: str, yes: bool) -> None:
    """Remove one notification, or all of a bucket; a missing one is not an error.

    Rules for targets stay; remove them with `bucketcast event rm`.

    \b
    Example:
      bucketcast notification rm --bucket uploads --notification-id mynotif1
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    notifications = _read(bucket, deployment, aws)
    removed = [entry.id for entry in notifications if id_ in ("", entry.id)]
    if len(removed) > 1 and not yes:
        out.confirm(f"Remove the notifications {', '.join(removed)} of {bucket}?")

    def stays(rule: Rule) -> bool:
        return rule.disabled or not is_notification(rule) or id_ not in ("", rule.name)

    Rules(deployment.state_table, aws.dynamodb).change(
        bucket, lambda stored: [rule for rule in stored if stays(rule)]
    )
    lines = [f"Removed {entry}" for entry in removed] or ["No such notification"]
    out.answer({"bucket": bucket, "removed": removed}, *lines)


def _read(bucket: str, deployment: Deployed, aws: Aws) -> list[Notification]:
    """Read the bucket's notifications, in RGW's order by id."""
    stored = Rules(deployment.state_table, aws.dynamodb).active(bucket)
    notifications = [notification(rule) for rule in stored if is_notification(rule)]
    return sorted(notifications, key=lambda entry: (entry.id, entry.topic))


def _filter(entry: Notification) -> str:
    parts: list[tuple[str, Any]] = [
        *entry.key,
        *entry.metadata,
        *((f"tag {name}", value) for name, value in entry.tags),
    ]
    return " ".join(f"{name}={value!r}" for name, value in parts)
