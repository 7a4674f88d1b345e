"""Convert between notification configurations of S3's API and rules.

What S3's XML cannot express of a rule (conditions, a name) is kept by the rule's id: a client that
reads, changes and writes a document, as `mc event add` does, keeps it.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from bucketcast.notifications import topic_configuration as notification
from bucketcast.notifications.api.document import Document, Queue
from bucketcast.notifications.topic_configuration import Notification
from bucketcast.rules import Rule

OURS: Final = "bucketcast:"
"""The prefix of the `Id` of a rule that S3's XML cannot express."""


def configuration(rule: Rule) -> Queue:
    """Return a rule as S3's API shows it."""
    values = {"prefix": rule.prefix, "suffix": rule.suffix}
    usual = tuple(name for name, value in values.items() if value)
    filters = tuple((name, values[name]) for name in rule.filters or usual)
    beyond = f"{OURS}{rule.id}" if rule.conditions or rule.name else rule.label
    return Queue(rule.arn, rule.events, filters, beyond)


def rules(bucket: str, queues: Sequence[Queue], stored: Iterable[Rule]) -> list[Rule]:
    """Return a document's rules, with what stored rules of the same id have beyond it."""
    beyond = {f"{OURS}{rule.id}": rule for rule in stored if rule.conditions or rule.name}
    made = (_rule(bucket, queue, beyond.get(queue.id)) for queue in queues)
    # An ARN with and without a region is the same.
    return list(dict.fromkeys(made))


def exchanged(bucket: str, given: Document, stored: Sequence[Rule], *, whole: bool) -> list[Rule]:
    """Return a bucket's rules after a document was put.

    Targets are replaced as with MinIO, topics are merged as with Ceph, and a document about topics
    alone leaves the targets. With `whole` the document is all that there is to be, as a client of
    MinIO's means it, which reads, changes and writes it; but it can say nothing of metadata, tags
    and regular expressions, so that what a notification asks of these stays.
    """
    topics = [rule for rule in stored if notification.is_notification(rule)]
    targets = [rule for rule in stored if not notification.is_notification(rule)]
    if given.empty:
        return []
    if whole:
        wanted = notification.merged([], given_back(given.notifications, stored))
    else:
        before_all = [notification.notification(rule) for rule in topics]
        wanted = notification.merged(before_all, given.notifications)
    if given.queues or whole:
        targets = rules(bucket, given.queues, stored)
    return [*targets, *(notification.rule(bucket, each) for each in wanted)]


def given_back(given: Iterable[Notification], stored: Iterable[Rule]) -> list[Notification]:
    """Return notifications with the stored filters that MinIO's clients cannot express."""
    topics = map(notification.notification, filter(notification.is_notification, stored))
    before = {(each.id, each.topic): each for each in topics}
    return [_whole(each, before.get((each.id, each.topic))) for each in given]


def without(stored: Iterable[Rule], id: str) -> list[Rule]:  # noqa: A002 - Ceph's word
    """Return the rules without those that the API shows by this `Id`."""
    return [rule for rule in stored if shown_id(rule) != id]


def shown_id(rule: Rule) -> str:
    """Return the `Id` by which the API shows a rule."""
    return rule.name if notification.is_notification(rule) else configuration(rule).id


def _whole(given: Notification, before: Notification | None) -> Notification:
    if before is None:
        return given
    said = {name for name, _ in given.key}
    expressions = tuple(pair for pair in before.key if pair[0] == "regex" and pair[0] not in said)
    return replace(
        given,
        key=(*given.key, *expressions),
        metadata=given.metadata or before.metadata,
        tags=given.tags or before.tags,
    )


def _rule(bucket: str, queue: Queue, kept: Rule | None) -> Rule:
    values = dict(queue.filters)
    usual = tuple(name for name in ("prefix", "suffix") if values.get(name))
    given = tuple(name for name, _ in queue.filters)
    return Rule(
        bucket=bucket,
        arn=queue.arn,
        events=queue.events,
        prefix=values.get("prefix", ""),
        suffix=values.get("suffix", ""),
        conditions=kept.conditions if kept else (),
        name=kept.name if kept else "",
        label=kept.label if kept else queue.id,
        filters=() if given == usual else given,
    )
