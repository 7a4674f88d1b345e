"""`bucketcast import ceph`: import RGW's topics and notifications."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, TypeVar

import click

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.deployment import Deployed
from bucketcast.destination import TopicArn
from bucketcast.errors import BucketcastError
from bucketcast.migrate import ceph
from bucketcast.notifications import topic_configuration
from bucketcast.notifications.api import Notifications
from bucketcast.notifications.topic_configuration import Notification
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared
from bucketcast.topics.attributes import TopicAttributes, parse_attributes, read_certificate
from bucketcast.topics.aws.topics import Change, DesiredTopic, topics_of
from bucketcast.topics.errors import TopicError
from bucketcast.topics.model import require_name
from bucketcast.users import User
from bucketcast.users.aws import Users
from bucketcast.web.errors import S3Error

T = TypeVar("T")
R = TypeVar("R")
_IMPORTER = User("", "import", "", (), admin=True)


@click.command("ceph")
@params.files
@click.option(
    "--bucket",
    type=params.bucket_name,
    metavar="NAME",
    help="Bucket of the notifications; the JSON does not contain it.",
)
@click.option("--dry-run", is_flag=True, help="Show the changes, and make none.")
@shared
def command(out: Output, paths: tuple[Path, ...], *, bucket: str | None, dry_run: bool) -> None:
    """Import topics and notifications of Ceph RGW.

    FILE is the output of `radosgw-admin topic list` or `radosgw-admin notification list --bucket
    NAME`; - is standard input. Topics keep tenant, owner and name; their ARNs get this deployment's
    region. Notifications are merged into the bucket's by Id and topic. If anything cannot be
    imported, all errors are listed and nothing is changed.

    \b
    Example:
      radosgw-admin topic list > topics.json
      radosgw-admin notification list --bucket uploads > uploads.json
      bucketcast import ceph topics.json --dry-run
      bucketcast import ceph uploads.json --bucket uploads
    """  # noqa: D301 - click reads the character
    texts = [(str(path), params.read_file(path)) for path in paths]
    parsed = ceph.read(texts, bucket=bucket or "")
    attributes = _for_each(parsed.topics, _attributes, attrgetter("arn"))
    topics = list(zip(parsed.topics, attributes, strict=True))
    if not dry_run:
        deployment, aws = out.deployed()
        for topic in _make_topics(topics, deployment, aws):
            out.note(
                f"note: {topic.arn} is for administrators only: there is no user {topic.owner} of "
                f"tenant '{topic.arn.tenant}'; add the user and import again"
            )
        _make_notifications(parsed.notifications, deployment, aws)
    for entry in parsed.left_out:
        out.note(f"skipped: {entry.what}: {entry.why}")
    _print(out, parsed, topics, dry_run=dry_run)


def _attributes(topic: ceph.ParsedTopic) -> TopicAttributes:
    """Return a topic's attributes, checked as CreateTopic checks them."""
    require_name(topic.arn.name)
    return parse_attributes(topic.attributes, read_certificate)


def _for_each(topics: Iterable[T], call: Callable[[T], R], arn: Callable[[T], object]) -> list[R]:
    """Call for each topic, and return the results.

    Raises:
        BucketcastError: with the errors of all topics.
    """
    results, errors = [], []
    for topic in topics:
        try:
            results.append(call(topic))
        except TopicError as error:
            errors.append(f"{arn(topic)}: {error}")
    if errors:
        raise BucketcastError("\n".join(errors))
    return results


def _make_topics(
    topics: Sequence[tuple[ceph.ParsedTopic, TopicAttributes]], deployment: Deployed, aws: Aws
) -> list[ceph.ParsedTopic]:
    """Create the topics; return those whose owner is no user."""
    if not topics:
        return []
    users = Users(deployment.stack, deployment.state_table, aws.dynamodb, aws.secretsmanager)
    with aws_errors():
        ids = {(user.tenant, user.name): user.id for user in users.all()}
    topics_api = topics_of(deployment.stack, deployment.state_table, aws)
    region = aws.dynamodb.meta.region_name
    desired = [
        (
            TopicArn(region, topic.arn.tenant, topic.arn.name),
            DesiredTopic(topic.owner, attributes, ids.get((topic.arn.tenant, topic.owner), "")),
        )
        for topic, attributes in topics
    ]
    with aws_errors():
        _for_each(desired, lambda pair: topics_api.check(*pair), itemgetter(0))
        for arn, wanted in desired:
            topics_api.put(arn, _constant(wanted))
    return [topic for topic, _ in topics if (topic.arn.tenant, topic.owner) not in ids]


def _constant(wanted: DesiredTopic) -> Change:
    return lambda *_: wanted


def _make_notifications(
    notifications: Sequence[tuple[str, Notification]], deployment: Deployed, aws: Aws
) -> None:
    region = aws.dynamodb.meta.region_name
    api = Notifications(lambda: deployment, aws, region)
    for bucket, group in groupby(notifications, key=lambda entry: entry[0]):
        try:
            api.add(bucket, [entry for _, entry in group], _IMPORTER)
        except S3Error as error:
            raise BucketcastError(f"{bucket}: {error.message}") from None


def _print(
    out: Output,
    parsed: ceph.ParsedCeph,
    topics: Sequence[tuple[ceph.ParsedTopic, TopicAttributes]],
    *,
    dry_run: bool,
) -> None:
    document: dict[str, Any] = {
        "dry_run": dry_run,
        "topics": [
            {"arn": str(topic.arn), "owner": topic.owner, "attributes": attributes.shown}
            for topic, attributes in topics
        ],
        "notifications": [
            {"bucket": bucket, **topic_configuration.document(entry)}
            for bucket, entry in parsed.notifications
        ],
        "left_out": [entry._asdict() for entry in parsed.left_out],
    }
    done = "Would create" if dry_run else "Created"
    lines = [
        f"{done} topic {topic.arn}, owner {topic.owner or 'none'}, "
        f"endpoint {attributes.shown.get('push-endpoint', 'none')}"
        for topic, attributes in topics
    ]
    lines += [
        f"{done} notification {entry.id} of {bucket}, topic {entry.topic}"
        for bucket, entry in parsed.notifications
    ]
    out.answer(document, *lines)
    if not lines:
        out.note("nothing to import was found")
