"""A notification of Ceph's: which events of a bucket go to a topic, and the rule that says so.

Its `Id` is the rule's name, so each notification sends a copy of its own. All that it filters by
must hold. Prefix and suffix are taken literally and may overlap in a key; the regular expression
is about the whole key. Source: "Bucket Operations" of the Ceph documentation, and what RGW did.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from bucketcast.destination import TopicArn
from bucketcast.event import names
from bucketcast.rules import Rule, patterns
from bucketcast.rules.conditions import METADATA, TAG, Condition, How, check
from bucketcast.rules.regexes import check_total

KEY_FILTERS: Final[tuple[How, ...]] = ("prefix", "suffix", "regex")
DEFAULT_EVENTS: Final = ("s3:ObjectCreated:*", "s3:ObjectRemoved:*")
"""What RGW stores where no event is named."""
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


class WrongFilterError(ValueError):
    """A notification has an invalid filter or event; the text says what is allowed."""


def of(
    topic: str,
    *,
    id: str = "",  # noqa: A002 - Ceph's word
    events: Iterable[str] = (),
    key: Iterable[tuple[str, str]] = (),
    metadata: Iterable[tuple[str, str]] = (),
    tags: Iterable[tuple[str, str]] = (),
) -> Notification:
    """Return a notification to store, with an `Id` and events even if none were given.

    Of two values of one name in `metadata` or `tags` the first counts; an empty filter of the key
    matches all.

    Raises:
        WrongFilterError: a filter or an event is invalid.
    """
    found = Notification(
        id=id,
        topic=topic,
        events=_events(events),
        key=_ordered(key),
        metadata=_first_of_each((name.lower(), value) for name, value in metadata),
        tags=_first_of_each(tags),
    )
    _check(found)
    return found if id else msgspec.structs.replace(found, id=_made_id(found))


def rule(bucket: str, given: Notification) -> Rule:
    """Return the rule of a notification."""
    conditions = [Condition("key", (value,), _how(name)) for name, value in given.key]
    conditions += [Condition(METADATA + name, (value,)) for name, value in given.metadata]
    conditions += [Condition(TAG + name, (value,)) for name, value in given.tags]
    return Rule(
        bucket=bucket,
        arn=given.topic,
        events=given.events,
        conditions=tuple(conditions),
        name=given.id,
    )


def is_notification(rule: Rule) -> bool:
    """Return whether a rule is a notification."""
    return isinstance(rule.to, TopicArn)


def notification(rule: Rule) -> Notification:
    """Return the notification of a rule."""
    by_subject = [(one.on, one.how, one.values[0]) for one in rule.conditions]
    return Notification(
        id=rule.name,
        topic=rule.arn,
        events=rule.events,
        key=tuple((how, value) for on, how, value in by_subject if on == "key"),
        metadata=_behind(METADATA, by_subject),
        tags=_behind(TAG, by_subject),
    )


def merged(current: Sequence[Notification], given: Iterable[Notification]) -> list[Notification]:
    """Merge `given` into `current`; the same id and topic replaces what is there."""
    found = {(each.id, each.topic): each for each in current}
    found |= {(each.id, each.topic): each for each in given}
    return list(found.values())


def check_memory(rules: Iterable[Rule]) -> None:
    """Check that the regular expressions of a bucket's rules fit into ingest's memory.

    Raises:
        WrongFilterError: together they are too large.
    """
    try:
        check_total({text for each in rules for text in patterns(each)})
    except ValueError as error:
        raise WrongFilterError(str(error)) from None


def _events(given: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for text in given:
        name = names.canonical(text)
        if name is None:
            raise WrongFilterError(f"Event: found {text!r}; allowed is a name of an event or `*`")
        found[name] = None
    return tuple(found) or DEFAULT_EVENTS


def _ordered(key: Iterable[tuple[str, str]]) -> Pairs:
    """Return the filters of the key in RGW's order, without empty ones."""
    given: dict[str, str] = {}
    for name, value in key:
        if name not in KEY_FILTERS:
            allowed = ", ".join(KEY_FILTERS)
            raise WrongFilterError(f"S3Key: found {name!r}; allowed are {allowed}")
        if name in given:
            raise WrongFilterError(f"S3Key: found {name} twice; allowed is one")
        given[name] = value
    return tuple((name, given[name]) for name in KEY_FILTERS if given.get(name))


def _first_of_each(pairs: Iterable[tuple[str, str]]) -> Pairs:
    found: dict[str, str] = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return tuple(sorted(found.items()))


def _check(given: Notification) -> None:
    for name, _ in given.metadata:
        if not name.removeprefix("x-amz-meta-") or not name.startswith("x-amz-meta-"):
            raise WrongFilterError(f"S3Metadata: found {name!r}; allowed is x-amz-meta-NAME")
    if any(not name for name, _ in given.tags):
        raise WrongFilterError("S3Tags: found an empty name; allowed is the name of a tag")
    try:
        for one in rule("any", given).conditions:
            check(one)
    except ValueError as error:
        raise WrongFilterError(f"S3Key: {error}") from None


def _how(name: str) -> How:
    return next(how for how in KEY_FILTERS if how == name)


def _behind(prefix: str, found: Iterable[tuple[str, str, str]]) -> Pairs:
    named = ((on, value) for on, _, value in found if on.startswith(prefix))
    return tuple((on.removeprefix(prefix), value) for on, value in named)


def _made_id(given: Notification) -> str:
    """Return the same Id for the same notification, so that a repeated call adds none."""
    return hashlib.blake2b(msgspec.json.encode(given), digest_size=16).hexdigest()


_FILTERS: Final = ("S3Key", "S3Metadata", "S3Tags")


def document(shown: Notification) -> dict[str, Any]:
    """Return a notification with the fields of radosgw-admin."""
    pairs = zip(_FILTERS, (shown.key, shown.metadata, shown.tags), strict=True)
    return {
        "TopicArn": shown.topic,
        "Id": shown.id,
        "Events": list(shown.events),
        "Filter": {
            name: {"FilterRules": [{"Name": key, "Value": value} for key, value in rules]}
            for name, rules in pairs
            if rules
        },
    }
