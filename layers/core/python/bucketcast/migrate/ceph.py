"""Parse the output of `radosgw-admin topic list` and `notification list`, and render it.

The first is an array of topics, or an object with `topics`; a topic's `dest` has the endpoint, with
its login, and its arguments as `k=v&k=v`. The second is an object with `notifications`, without
their bucket. Filters are `FilterRules`, or a `FilterRule` each under one and the same
key, as older releases print them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

from bucketcast.destination import TopicArn
from bucketcast.errors import ConfigError, ConfigErrors
from bucketcast.migrate.parsed import LeftOut
from bucketcast.notifications import topic_configuration as notification
from bucketcast.notifications.topic_configuration import FILTERS, Notification
from bucketcast.topics.attributes import KNOWN
from bucketcast.topics.model import ENDPOINT

_LIMITS: Final = ("time_to_live", "max_retries", "retry_sleep_duration")
_INHERITED: Final = ("", "None")
ALLOWED: Final = (
    "the output of `radosgw-admin topic list` or `radosgw-admin notification list --bucket NAME`"
)


@dataclass(frozen=True, slots=True)
class ParsedTopic:
    """A topic; `attributes` are CreateTopic's, with the login that its endpoint may have."""

    arn: TopicArn
    owner: str
    attributes: Mapping[str, str] = field(repr=False)


@dataclass(slots=True)
class ParsedCeph:
    """The parsed files; `notifications` are by bucket."""

    topics: list[ParsedTopic] = field(default_factory=list)
    notifications: list[tuple[str, Notification]] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    errors: list[ConfigError] = field(default_factory=list)


def read(files: Sequence[tuple[str, str]], *, bucket: str = "") -> ParsedCeph:
    """Parse files, given as name and text; `bucket` is the notifications' bucket.

    Raises:
        ConfigErrors: every error found, without credentials.
    """
    parsed = ParsedCeph()
    for name, text in files:
        try:
            document = json.loads(text, object_pairs_hook=_merge_filter_rules)
        except ValueError as error:
            parsed.errors.append(
                ConfigError(name, f"invalid JSON: {error}", f"allowed is {ALLOWED}")
            )
            continue
        fields = document if isinstance(document, dict) else {"topics": document}
        if isinstance(notifications := fields.get("notifications"), list):
            _read_notifications(name, notifications, bucket, parsed)
        elif isinstance(topics := fields.get("topics"), list):
            _read_topics(name, topics, parsed)
        else:
            parsed.errors.append(ConfigError(name, "found unknown JSON", f"allowed is {ALLOWED}"))
    if parsed.errors:
        raise ConfigErrors(parsed.errors)
    return parsed


def _merge_filter_rules(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; repeated `FilterRule` keys become one list."""
    document = dict(pairs)
    if "FilterRule" in document:
        document["FilterRule"] = [value for key, value in pairs if key == "FilterRule"]
    return document


def _read_topics(name: str, topics: list[Any], parsed: ParsedCeph) -> None:
    for number, entry in enumerate(topics, 1):
        where = f"{name}: topic {number}"
        try:
            topic = entry.get("topic", entry)
            dest, arn = topic["dest"], TopicArn.parse(topic["arn"])
            made_for = dest.get("push_endpoint_topic")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            parsed.errors.append(ConfigError(where, f"invalid topic: {error}", ALLOWED))
            continue
        if made_for not in (None, "", topic.get("name", arn.name)):
            reason = "RGW created it for a notification; the topic itself is imported"
            parsed.left_out.append(LeftOut(str(arn), reason))
            continue
        owner = str(topic.get("owner") or topic.get("user") or "").rpartition("$")[2]
        parsed.topics.append(ParsedTopic(arn, owner, _attributes(topic, dest)))


def _attributes(topic: Mapping[str, Any], dest: Mapping[str, Any]) -> dict[str, str]:
    args = parse_qsl(str(dest.get("push_endpoint_args", "")), keep_blank_values=True)
    attributes = {key: value for key, value in args if key in KNOWN}
    attributes |= {
        ENDPOINT: str(dest.get("push_endpoint", "")),
        "persistent": "true" if _is_true(dest.get("persistent")) else "false",
        "OpaqueData": str(topic.get("opaqueData", "")),
        "Policy": str(topic.get("policy") or topic.get("Policy") or ""),
    }
    attributes |= {
        key: str(dest[key]) for key in _LIMITS if str(dest.get(key, "")) not in _INHERITED
    }
    return {key: value for key, value in attributes.items() if value}


def _is_true(value: Any) -> bool:
    return str(value).lower() == "true"


def _read_notifications(
    name: str, notifications: list[Any], bucket: str, parsed: ParsedCeph
) -> None:
    if not bucket:
        allowed = "give it with --bucket NAME, one bucket per run"
        parsed.errors.append(ConfigError(name, "missing bucket", allowed))
    for number, entry in enumerate(notifications, 1):
        where = f"{name}: notification {number}"
        try:
            where = f"{name}: notification {entry['Id']}"
            imported = notification.create(
                str(TopicArn.parse(entry["TopicArn"])),
                id=entry["Id"],
                events=entry.get("Events", ()),
                filters=dict(_filters(entry.get("Filter") or {})),
            )
            imported = msgspec.convert(
                msgspec.to_builtins(imported), Notification
            )  # all values are text
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            parsed.errors.append(ConfigError(where, f"cannot be imported: {error}", ALLOWED))
        else:
            parsed.notifications.append((bucket, imported))


def _filters(filters: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in FILTERS:
        rules = filters.get(name) or {}
        entries = rules.get("FilterRules") or rules.get("FilterRule") or []
        yield name, [(entry["Name"], entry["Value"]) for entry in entries]
