"""`bucketcast import ceph`: topics and notifications of RGW, made here."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from bucketcast.cli import words
from bucketcast.cli.screen import Screen, shared
from bucketcast.control.errors import S3Error
from bucketcast.control.s3 import document
from bucketcast.control.s3.binding import Binding
from bucketcast.control.s3.notification import Notifications
from bucketcast.control.sns.certificate import certificate
from bucketcast.control.users import User
from bucketcast.errors import BucketcastError
from bucketcast.moving import ceph as moving
from bucketcast.notification import Notification
from bucketcast.store import deployed
from bucketcast.store.access import Aws, explained
from bucketcast.store.deployed import Deployed
from bucketcast.store.topics.opened import topics_of
from bucketcast.store.topics.topics import Change, Wanted
from bucketcast.topics.attributes import Given, checked
from bucketcast.topics.errors import TopicError
from bucketcast.topics.model import TopicArn, demand_name

_WHOEVER = User("import", "", "", admin=True)


class NotTakenOverError(BucketcastError):
    """A topic or a notification of RGW cannot be here; the text says which, and why."""


@click.command("ceph")
@words.files
@click.option(
    "--bucket",
    type=words.bucket_name,
    metavar="NAME",
    help="Whose notifications they are; the JSON does not say it.",
)
@click.option("--apply", "applied", is_flag=True, help="Make them; else it is only said what.")
@shared
@click.pass_obj
def command(screen: Screen, paths: tuple[Path, ...], *, bucket: str | None, applied: bool) -> None:
    """Take over topics and notifications of Ceph RGW.

    FILE is what `radosgw-admin topic list` or `radosgw-admin notification list --bucket NAME`
    prints; - is standard input. Topics keep tenant, owner and name, and get this deployment's
    region in their ARN; notifications are merged with those of the bucket by Id and topic. Whatever
    cannot be taken over is a mistake, and nothing is made then.

    \b
    Example:
      radosgw-admin topic list > topics.json
      radosgw-admin notification list --bucket uploads > uploads.json
      bucketcast import ceph topics.json --apply
      bucketcast import ceph uploads.json --bucket uploads --apply
    """  # noqa: D301 - click reads the character
    found = moving.read([_text(path) for path in paths], bucket=bucket or "")
    topics = list(zip(found.topics, _checked(found.topics), strict=True))
    if applied:
        aws = screen.aws()
        there = deployed.find(screen.stack, aws)
        _make_topics(topics, there, aws)
        _make_notifications(found.notifications, there, aws)
    for left in found.left_out:
        if not screen.json:
            screen.note(f"left out: {left.what}: {left.why}")
    if not applied and not screen.json:
        screen.note("nothing was made: --apply makes it")
    _say(screen, found, topics, applied=applied)


def _text(path: Path) -> tuple[str, str]:
    try:
        with click.open_file(str(path), encoding="utf-8-sig") as stream:
            return str(path), stream.read()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "no text in UTF-8"
        raise click.UsageError(f"{path} cannot be read: {why}") from None


def _checked(topics: Sequence[moving.FoundTopic]) -> list[Given]:
    """What each is made with, checked as CreateTopic checks it; all mistakes at once."""
    given, wrong = [], []
    for topic in topics:
        try:
            demand_name(topic.arn.name)
            given.append(checked(topic.attributes, certificate))
        except TopicError as error:
            wrong.append(f"{topic.arn}: {error}")
    if wrong:
        raise NotTakenOverError("\n".join(wrong))
    return given


def _make_topics(
    topics: Sequence[tuple[moving.FoundTopic, Given]], there: Deployed, aws: Aws
) -> None:
    if not topics:
        return
    opened = topics_of(there.stack, there.rules_table, aws)
    region = aws.dynamodb.meta.region_name
    for topic, given in topics:
        arn = TopicArn(region, topic.arn.tenant, topic.arn.name)
        with explained():
            opened.put(arn, _always(Wanted(topic.owner, given)))


def _always(wanted: Wanted) -> Change:
    return lambda *_: wanted


def _make_notifications(
    notifications: Sequence[tuple[str, Notification]], there: Deployed, aws: Aws
) -> None:
    region = aws.dynamodb.meta.region_name
    api = Notifications(there.stack, aws, region, Binding(aws))
    for bucket, group in groupby(notifications, key=lambda each: each[0]):
        # As Ceph's PUT merges them, with all of its checks.
        text = document.written([], [each for _, each in group])
        try:
            api.exists(bucket)
            api.put(bucket, text, _WHOEVER)
        except S3Error as error:
            raise NotTakenOverError(f"{bucket}: {error.message}") from None


def _say(
    screen: Screen,
    found: moving.FoundInCeph,
    topics: Sequence[tuple[moving.FoundTopic, Given]],
    *,
    applied: bool,
) -> None:
    listed: dict[str, Any] = {
        "applied": applied,
        "topics": [
            {"arn": str(topic.arn), "owner": topic.owner, "attributes": given.shown}
            for topic, given in topics
        ],
        "notifications": [
            {"bucket": bucket, **moving.document(each)} for bucket, each in found.notifications
        ],
        "left_out": [{"what": left.what, "why": left.why} for left in found.left_out],
    }
    done = "Made" if applied else "Would make"
    lines = [
        f"{done} the topic {topic.arn} of {topic.owner or 'nobody'}, "
        f"to {given.shown.get('push-endpoint', 'nowhere')}"
        for topic, given in topics
    ]
    lines += [
        f"{done} the notification {each.id} of {bucket}, to {each.topic}"
        for bucket, each in found.notifications
    ]
    screen.answer(listed, *lines)
