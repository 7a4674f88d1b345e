"""Ceph's notification: the events of a bucket that go to a topic, stored as a rule.

Its `Id` is the rule's name, so each notification sends its own copy. All filters must match. Prefix
and suffix are literal and may overlap in a key; the regular expression matches the whole key.
Source: "Bucket Operations" of the Ceph documentation, and the behaviour of RGW.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from bucketcast.destination import TopicArn
from bucketcast.event import names
from bucketcast.rules import Rule
from bucketcast.rules.conditions import METADATA, TAG, Condition, How, check

FILTERS: Final = ("S3Key", "S3Metadata", "S3Tags")
KEY_FILTERS: Final[tuple[How, ...]] = ("prefix", "suffix", "regex")
DEFAULT_EVENTS: Final = ("s3:ObjectCreated:*", "s3:ObjectRemoved:*")
"""RGW's events of a notification that names none."""
Pairs = tuple[tuple[str, str], ...]


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """One `TopicConfiguration`; `topic` is an ARN.

    `key` has some of `KEY_FILTERS` with their values; `metadata` has names in lower case with their
    `x-amz-meta-`, and values; `tags` has names and values.
    """

    id: str
    topic: str
    events: tuple[str, ...] = DEFAULT_EVENTS
    key: Pairs = ()
    metadata: Pairs = ()
    tags: Pairs = ()

    @property
    def filters(self) -> dict[str, Pairs]:
        """The filters by their names in XML and JSON, without empty ones."""
        values = zip(FILTERS, (self.key, self.metadata, self.tags), strict=True)
        return {name: pairs for name, pairs in values if pairs}


class WrongFilterError(ValueError):
    """A notification has an invalid filter or event; the text says what is allowed."""


def create(
    topic: str,
    *,
    id: str = "",  # noqa: A002 - Ceph's word
    events: Iterable[str] = (),
    filters: Mapping[str, Sequence[tuple[str, str]]] = {},
) -> Notification:
    """Return a notification to store; its `Id` and events have defaults.

    `filters` have some of the names in `FILTERS`. If a name of metadata or tags has several values,
    the first counts. An empty filter for the key is left out.

    Raises:
        WrongFilterError: a filter or an event is invalid.
    """
    key, metadata, tags = (filters.get(name, ()) for name in FILTERS)
    notification = Notification(
        id=id,
        topic=topic,
        events=_events(events),
        key=_order_key_filters(key),
        metadata=_first_values((name.lower(), value) for name, value in metadata),
        tags=_first_values(tags),
    )
    _check(notification)
    return (
        notification if id else msgspec.structs.replace(notification, id=_generate_id(notification))
    )


def rule(bucket: str, notification: Notification) -> Rule:
    """Return the rule of a notification."""
    conditions = [Condition("key", (value,), _how(name)) for name, value in notification.key]
    conditions += [Condition(METADATA + name, (value,)) for name, value in notification.metadata]
    conditions += [Condition(TAG + name, (value,)) for name, value in notification.tags]
    return Rule(
        bucket=bucket,
        arn=notification.topic,
        events=notification.events,
        conditions=tuple(conditions),
        name=notification.id,
    )


def is_notification(rule: Rule) -> bool:
    """Return True if a rule is a notification."""
    return isinstance(rule.to, TopicArn)


def notification(rule: Rule) -> Notification:
    """Return the notification of a rule."""
    by_subject = [
        (condition.on, condition.how, condition.values[0]) for condition in rule.conditions
    ]
    return Notification(
        id=rule.name,
        topic=rule.arn,
        events=rule.events,
        key=tuple((how, value) for on, how, value in by_subject if on == "key"),
        metadata=_pairs_of(METADATA, by_subject),
        tags=_pairs_of(TAG, by_subject),
    )


def merge(current: Sequence[Notification], changes: Iterable[Notification]) -> list[Notification]:
    """Merge `given` into `current`; the same id and topic replaces what is there."""
    by_key = {(entry.id, entry.topic): entry for entry in current}
    by_key |= {(entry.id, entry.topic): entry for entry in changes}
    return list(by_key.values())


def _events(names_given: Iterable[str]) -> tuple[str, ...]:
    events: dict[str, None] = {}
    for name in names_given:
        canonical_name = names.canonical(name)
        if canonical_name is None:
            raise WrongFilterError(f"Event: found {name!r}; allowed is a name of an event or `*`")
        events[canonical_name] = None
    return tuple(events) or DEFAULT_EVENTS


def _order_key_filters(key: Iterable[tuple[str, str]]) -> Pairs:
    """Return the key's filters in RGW's order, without empty ones."""
    values = dict(key)
    return tuple((name, values[name]) for name in KEY_FILTERS if values.get(name))


def _first_values(pairs: Iterable[tuple[str, str]]) -> Pairs:
    first_values: dict[str, str] = {}
    for name, value in pairs:
        first_values.setdefault(name, value)
    return tuple(sorted(first_values.items()))


def _check(notification: Notification) -> None:
    for name, _ in notification.metadata:
        if not name.removeprefix("x-amz-meta-") or not name.startswith("x-amz-meta-"):
            raise WrongFilterError(f"S3Metadata: found {name!r}; allowed is x-amz-meta-NAME")
    if any(not name for name, _ in notification.tags):
        raise WrongFilterError("S3Tags: found an empty name; allowed is the name of a tag")
    try:
        for condition in rule("any", notification).conditions:
            check(condition)
    except ValueError as error:
        raise WrongFilterError(f"S3Key: {error}") from None


def _how(name: str) -> How:
    return next(how for how in KEY_FILTERS if how == name)


def _pairs_of(prefix: str, subjects: Iterable[tuple[str, str, str]]) -> Pairs:
    named = ((on, value) for on, _, value in subjects if on.startswith(prefix))
    return tuple((on.removeprefix(prefix), value) for on, value in named)


def _generate_id(notification: Notification) -> str:
    """Return an `Id` that is the same for equal notifications, so a repeated call adds none."""
    return hashlib.blake2b(msgspec.json.encode(notification), digest_size=16).hexdigest()


def document(notification: Notification) -> dict[str, Any]:
    """Return a notification with the fields of radosgw-admin."""
    return {
        "TopicArn": notification.topic,
        "Id": notification.id,
        "Events": list(notification.events),
        "Filter": {
            name: {"FilterRules": [{"Name": key, "Value": value} for key, value in pairs]}
            for name, pairs in notification.filters.items()
        },
    }
