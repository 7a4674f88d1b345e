"""Convert between notification configurations of S3's API and rules.

S3's XML has no place for the conditions and the name of a rule. The `Id` refers to the stored rule,
so they survive when a client reads, changes and writes a document, as `mc event add` does.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from bucketcast.errors import BucketcastError
from bucketcast.notifications import topic_configuration as notification
from bucketcast.notifications.api.document import Document, Queue
from bucketcast.notifications.topic_configuration import Notification
from bucketcast.rules import Rule

_ID: Final = re.compile(r"bucketcast:[0-9a-f]{16}")
"""The `Id` of a rule that S3's XML cannot express. All else may be an `Id` of a client's own."""


def configuration(rule: Rule, *, to_minios: bool = False) -> Queue:
    """Return the configuration of a rule in S3's API.

    A rule without an `Id` gets one, as from S3, but none `to_minios` clients, as from MinIO.
    """
    values = {"prefix": rule.prefix, "suffix": rule.suffix}
    default_names = tuple(name for name, value in values.items() if value)
    filters = tuple((name, values[name]) for name in rule.filters or default_names)
    queue_id = rule.label or ("" if to_minios else rule.id)
    if (rule.conditions or rule.name) and not _ID.fullmatch(rule.label):
        queue_id = f"bucketcast:{rule.id}"
    return Queue(rule.arn, rule.events, filters, queue_id)


def rules(bucket: str, queues: Sequence[Queue], stored: Iterable[Rule]) -> list[Rule]:
    """Return a document's rules, with the conditions and names of stored rules.

    Raises:
        BucketcastError: an `Id` refers to a rule that is not stored.
    """
    by_id = {configuration(rule).id: rule for rule in stored}
    converted = (_rule(bucket, queue, by_id.get(queue.id)) for queue in queues)
    # An entry may be there twice, once with the Id that it was shown with and once without.
    return list(dict.fromkeys(converted))


def apply_document(
    bucket: str, given: Document, stored: Sequence[Rule], *, whole: bool
) -> list[Rule]:
    """Return a bucket's rules after a client has put a document.

    Replace targets as MinIO does, and merge topics as Ceph does; a document with topics only keeps
    the targets. With `whole` the document replaces both, since MinIO's clients read, change and
    write all of it; metadata, tags and regular expressions, which they cannot express, stay.
    Disabled rules stay, since clients do not see them, unless the document has their `Id`.

    Raises:
        BucketcastError: an `Id` refers to a rule that is not stored.
    """
    wanted = _apply(bucket, given, stored, whole=whole)
    known = {rule.id for rule in wanted}
    # An Id that an active rule had need not be the disabled rule's: MinIO lets several have one.
    put = set(map(_key, wanted)).difference(map(_key, filter(is_shown, stored)))
    off = (rule for rule in stored if rule.disabled)
    return [*wanted, *(rule for rule in off if rule.id not in known and _key(rule) not in put)]


def _apply(bucket: str, given: Document, stored: Sequence[Rule], *, whole: bool) -> list[Rule]:
    shown = list(filter(is_shown, stored))
    topics = [rule for rule in shown if notification.is_notification(rule)]
    targets = [rule for rule in shown if not notification.is_notification(rule)]
    if given.empty:
        return []
    if whole:
        notifications = notification.merge([], restore_filters(given.notifications, stored))
    else:
        current = [notification.notification(rule) for rule in topics]
        notifications = notification.merge(current, given.notifications)
    if given.queues or whole:
        targets = rules(bucket, given.queues, stored)
    return [*targets, *(notification.rule(bucket, entry) for entry in notifications)]


def restore_filters(
    notifications: Iterable[Notification], stored: Iterable[Rule]
) -> list[Notification]:
    """Add the stored filters that MinIO's clients cannot express."""
    topics = map(notification.notification, filter(notification.is_notification, stored))
    before = {(entry.id, entry.topic): entry for entry in topics}
    return [_restore_filters(entry, before.get((entry.id, entry.topic))) for entry in notifications]


def is_shown(rule: Rule, id: str = "") -> bool:  # noqa: A002 - Ceph's word
    """Return True if the API shows a rule, with this `Id` unless that is ""."""
    return not rule.disabled and id in ("", shown_id(rule))


def shown_id(rule: Rule) -> str:
    """Return the `Id` of a rule in the API."""
    return rule.name if notification.is_notification(rule) else configuration(rule).id


def _key(rule: Rule) -> tuple[str, str]:
    """Return what a document replaces a rule by: its `Id`, with Ceph its `Id` and topic."""
    return shown_id(rule), rule.arn if notification.is_notification(rule) else ""


def _restore_filters(sent: Notification, before: Notification | None) -> Notification:
    if before is None:
        return sent
    key_names = {name for name, _ in sent.key}
    expressions = tuple(
        pair for pair in before.key if pair[0] == "regex" and pair[0] not in key_names
    )
    return replace(
        sent,
        key=(*sent.key, *expressions),
        metadata=sent.metadata or before.metadata,
        tags=sent.tags or before.tags,
    )


def _rule(bucket: str, queue: Queue, stored: Rule | None) -> Rule:
    if stored and configuration(stored) == queue:
        return replace(stored, disabled=False)
    if not stored and _ID.fullmatch(queue.id):
        raise BucketcastError(
            f"{bucket} has no rule {queue.id}, whose conditions this Id stands for: read the "
            "configuration again, or leave the Id out for a rule without conditions"
        )
    values = dict(queue.filters)
    default_names = tuple(name for name in ("prefix", "suffix") if values.get(name))
    filter_names = tuple(name for name, _ in queue.filters)
    return Rule(
        bucket=bucket,
        arn=queue.arn,
        events=queue.events,
        prefix=values.get("prefix", ""),
        suffix=values.get("suffix", ""),
        conditions=stored.conditions if stored else (),
        name=stored.name if stored else "",
        label=queue.id,  # also in place of none: the client may write the same once more
        filters=() if filter_names == default_names else filter_names,
    )
