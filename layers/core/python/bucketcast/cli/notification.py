"""`bucketcast notification`: notifications of topics, as radosgw-admin shows them."""

from typing import Any, Final

import click

from bucketcast import notification
from bucketcast.cli import words
from bucketcast.cli.following import follow
from bucketcast.cli.screen import Screen, shared
from bucketcast.errors import BucketcastError
from bucketcast.moving import ceph
from bucketcast.notification import Notification
from bucketcast.rules import Rule
from bucketcast.store import deployed
from bucketcast.store.access import Aws, explained
from bucketcast.store.rules import Rules

_COLUMNS: Final = ("ID", "TOPIC", "EVENTS", "FILTER")
_bucket = click.option("--bucket", type=words.bucket_name, required=True, metavar="NAME")


class NoSuchNotificationError(BucketcastError):
    """The bucket has no notification of this Id."""


@click.group()
def command() -> None:
    """Notifications: which events of a bucket go to which topic.

    They are made through the gateway, by `PUT ?notification`. With --json the fields are those of
    `radosgw-admin notification`.
    """


@command.command()
@_bucket
@shared
@click.pass_obj
def ls(screen: Screen, *, bucket: str) -> None:
    """List a bucket's notifications.

    \b
    Example:
      bucketcast notification ls --bucket uploads
    """  # noqa: D301 - click reads the character
    _, found = _of(screen, bucket)
    document = {"notifications": [ceph.document(each) for each in found]}
    rows = [(each.id, each.topic, ",".join(each.events), _filter(each)) for each in found]
    screen.table(document, _COLUMNS, rows, f"{bucket} has no notification of a topic")


@command.command()
@_bucket
@click.option("--notification-id", "id_", required=True, metavar="ID")
@shared
@click.pass_obj
def get(screen: Screen, *, bucket: str, id_: str) -> None:
    """Show one notification.

    \b
    Example:
      bucketcast notification get --bucket uploads --notification-id mynotif1
    """  # noqa: D301 - click reads the character
    _, found = _of(screen, bucket)
    named = [each for each in found if each.id == id_]
    if not named:
        raise NoSuchNotificationError(
            f"{bucket} has no notification {id_}: `bucketcast notification ls` shows what there is"
        )
    shown = named[0]
    lines = (
        f"Id: {shown.id}",
        f"TopicArn: {shown.topic}",
        f"Events: {','.join(shown.events)}",
        f"Filter: {_filter(shown) or '-'}",
    )
    screen.answer(ceph.document(shown), *lines)


@command.command()
@_bucket
@click.option("--notification-id", "id_", default="", metavar="ID", help="Only this one.")
@shared
@click.pass_obj
def rm(screen: Screen, *, bucket: str, id_: str) -> None:
    """Remove one notification, or all of a bucket; one that is not there is no error.

    Rules for targets stay: `bucketcast event rm` is about these.

    \b
    Example:
      bucketcast notification rm --bucket uploads --notification-id mynotif1
    """  # noqa: D301 - click reads the character
    aws, found = _of(screen, bucket)
    there = deployed.find(screen.stack, aws)
    gone = [each.id for each in found if id_ in ("", each.id)]

    def stays(rule: Rule) -> bool:
        return not notification.is_notification(rule) or id_ not in ("", rule.name)

    with explained():
        Rules(there.rules_table, aws.dynamodb).change(
            bucket, lambda held: [rule for rule in held if stays(rule)]
        )
    follow(screen, bucket, there, aws)
    lines = [f"Removed {each}" for each in gone] or ["There was no such notification"]
    screen.answer({"bucket": bucket, "removed": gone}, *lines)


def _of(screen: Screen, bucket: str) -> tuple[Aws, list[Notification]]:
    """AWS, and the bucket's notifications in the order of their ids, as RGW lists them."""
    aws = screen.aws()
    table = deployed.find(screen.stack, aws).rules_table
    with explained():
        held = Rules(table, aws.dynamodb).in_order(bucket)
    found = [notification.notification(rule) for rule in held if notification.is_notification(rule)]
    return aws, sorted(found, key=lambda each: (each.id, each.topic))


def _filter(shown: Notification) -> str:
    parts: list[tuple[str, Any]] = [
        *shown.key,
        *shown.metadata,
        *((f"tag {name}", value) for name, value in shown.tags),
    ]
    return " ".join(f"{name}={value!r}" for name, value in parts)
