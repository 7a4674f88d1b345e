"""A bucket's notification configuration, which we share with other writers.

S3 keeps one document per bucket, and every write replaces all of it. These functions take the
document from S3's API and return a new one in which only our entry, found by its `Id`, differs.
They do not call S3.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, Literal
from urllib.parse import unquote_plus

from bucketcast.errors import BucketcastError
from bucketcast.event import quoted
from bucketcast.rules.sent_events import EVENTBRIDGE, WHOLE, Part

Document = Mapping[str, Any]
Via = Literal["sqs", "eventbridge"]
TRANSPORTS: Final[frozenset[Via]] = frozenset(("sqs", "eventbridge"))
"""How S3 delivers a bucket's events."""

# List in the document -> the key of an entry's destination in it.
_DESTINATIONS: Final = {
    "TopicConfigurations": "TopicArn",
    "QueueConfigurations": "QueueArn",
    "LambdaFunctionConfigurations": "LambdaFunctionArn",
}
_EVENTBRIDGE: Final = "EventBridgeConfiguration"


class Overlap(BucketcastError):
    """Another entry of the bucket already takes some of the events of ours."""


def attach(document: Document, entry_id: str, queue_arn: str, part: Part = WHOLE) -> dict[str, Any]:
    """Send a part of the bucket's events to a queue; replace another entry with the same `Id`.

    Raises:
        Overlap: another owner's entry takes one of the events, which S3 would refuse.
    """
    if our_part(document, entry_id, queue_arn) == part:
        return dict(document)
    merged = detach(document, entry_id)
    for destination, other in entries(merged):
        if not _share_keys(other, part.prefix, part.suffix):
            continue
        overlap = [
            event for event in part.events if any(_overlap(event, own) for own in other["Events"])
        ]
        if overlap:
            ends = part_of(other).ends
            raise Overlap(
                f"the notification entry '{other.get('Id', '')}' to {destination}{ends} "
                f"already takes {', '.join(overlap)}: S3 sends an event of a key to one entry. "
                "Remove that entry, take the rest with events, prefix or suffix in [bucket.NAME] "
                "(--event, --prefix or --suffix of `bucket attach`), or use "
                'via = "eventbridge" (--via eventbridge) for this bucket'
            )
    ours = {"Id": entry_id, "QueueArn": queue_arn, **_entry_of(part)}
    merged["QueueConfigurations"] = [*merged.get("QueueConfigurations", []), ours]
    return merged


def connect(
    document: Document, entry_id: str, queue_arn: str, transports: Collection[Via], part: Part
) -> dict[str, Any]:
    """Send the bucket's events by these transports, to the queue only a part of them.

    Raises:
        Overlap: as `attach`.
    """
    after = enable_eventbridge(document) if "eventbridge" in transports else dict(document)
    return attach(after, entry_id, queue_arn, part) if "sqs" in transports else after


def detach(document: Document, entry_id: str) -> dict[str, Any]:
    """Remove the entry with this `Id`, if the document has it."""
    merged: dict[str, Any] = {}
    for kind in _DESTINATIONS:
        kept = [entry for entry in document.get(kind, []) if entry.get("Id") != entry_id]
        if kept:
            merged[kind] = kept
    if document.get(_EVENTBRIDGE) is not None:
        merged[_EVENTBRIDGE] = document[_EVENTBRIDGE]
    return merged


def enable_eventbridge(document: Document) -> dict[str, Any]:
    """Make S3 send every event of the bucket to EventBridge.

    There is no function to disable it: the setting has no owner, and others' rules may rely on it.
    """
    return {**document, _EVENTBRIDGE: document.get(_EVENTBRIDGE) or {}}


def entry_id(stack: str) -> str:
    """Return the `Id` of our entry in a bucket's document."""
    return f"{stack}-ingress"


def split(via: str) -> frozenset[Via]:
    """Return the transports of a bucket's `via`: both, one, or none for ""."""
    return TRANSPORTS if via == "both" else frozenset(each for each in TRANSPORTS if each == via)


def part_of(entry: Mapping[str, Any]) -> Part:
    """Return the part of the events that an entry takes."""
    return Part.of(entry["Events"], *_ends(entry))


def our_part(document: Document, entry_id: str, queue_arn: str) -> Part | None:
    """Return the part of the events that our entry sends to this queue; None if it does not."""
    ours = [each for each in document.get("QueueConfigurations", []) if each.get("Id") == entry_id]
    return next(iter(arriving({"QueueConfigurations": ours}, queue_arn, by_rule=False)), None)


def sent(part: Part, transports: Collection[Via]) -> list[Part]:
    """Return the parts of a bucket's events that arrive by transports, `part` by our entry."""
    return [part] * ("sqs" in transports) + [EVENTBRIDGE] * ("eventbridge" in transports)


def arriving(document: Document, queue_arn: str, *, by_rule: bool) -> list[Part]:
    """Return the parts of a bucket's events that arrive in a queue, whose ARN ends so.

    `by_rule` is True if a rule of EventBridge sends what S3 sends to EventBridge.
    """
    parts = [
        part_of(entry)
        for entry in document.get("QueueConfigurations", [])
        if entry["QueueArn"].endswith(queue_arn) and _is_encoded(entry)
    ]
    return parts + [EVENTBRIDGE] * (by_rule and sends_to_eventbridge(document))


def has_entry(document: Document, entry_id: str) -> bool:
    """Return True if the document has our entry, with whatever content."""
    return any(entry.get("Id") == entry_id for entry in document.get("QueueConfigurations", []))


def sends_to_eventbridge(document: Document) -> bool:
    """Return True if S3 sends the bucket's events to EventBridge."""
    return document.get(_EVENTBRIDGE) is not None


def other_entries(document: Document, entry_id: str) -> list[str]:
    """Return the entries of other owners as texts: id, destination, filter and events."""
    return [
        f"'{entry.get('Id', '')}' to {destination}{part_of(entry).ends}: "
        f"{', '.join(entry['Events'])}"
        for destination, entry in entries(detach(document, entry_id))
    ]


def lost_entries(before: Document, after: Document, but: str = "") -> list[str]:
    """Return the entries of `before` that `after` lacks, except the one with the `Id` `but`.

    The order of entries does not matter, since S3 may change it.
    """
    kept = set(_texts(after, but))
    return [text for text in _texts(before, but) if text not in kept]


def restore(before: Document, after: Document, seen: Document, entry_id: str) -> dict[str, Any]:
    """Return `seen` with our change from `before` to `after` undone and lost entries put back."""
    if set(_texts(seen, "")) == set(_texts(after, "")):
        return dict(before)
    merged = detach(seen, entry_id)
    kept = set(_texts(merged, ""))
    for kind in _DESTINATIONS:
        missing = [entry for entry in before.get(kind, []) if _text(entry) not in kept]
        if missing:
            merged[kind] = [*merged.get(kind, []), *missing]
    return enable_eventbridge(merged) if sends_to_eventbridge(before) else merged


def describe_changes(before: Document, after: Document, entry_id: str) -> list[str]:
    """Return texts about the changes of our entry and of EventBridge delivery."""
    had, has = (has_entry(document, entry_id) for document in (before, after))
    texts = []
    if has:
        texts.append(f"{'replaced' if had else 'added'} the notification entry '{entry_id}'")
    elif had:
        texts.append(f"removed the notification entry '{entry_id}'")
    if sends_to_eventbridge(after) and not sends_to_eventbridge(before):
        texts.append("made S3 send all events of the bucket to EventBridge")
    return texts


def _texts(document: Document, but: str) -> list[str]:
    """Return each entry as a text that does not depend on the order of fields and events."""
    texts = [_text(entry) for _, entry in entries(document) if not but or entry.get("Id") != but]
    return [*texts, _EVENTBRIDGE] if sends_to_eventbridge(document) else texts


def _text(entry: Mapping[str, Any]) -> str:
    plain = {**entry, "Events": sorted(entry["Events"]), "Filter": part_of(entry).ends}
    return json.dumps(plain, sort_keys=True)


def entries(document: Document) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each entry behind the ARN of its destination."""
    for kind, destination in _DESTINATIONS.items():
        for entry in document.get(kind, []):
            yield entry[destination], entry


def _overlap(first: str, second: str) -> bool:
    """Return True if two event names or families have an event in common."""
    if first.endswith("*"):
        return second.startswith(first[:-1])
    if second.endswith("*"):
        return first.startswith(second[:-1])
    return first == second


def _entry_of(part: Part) -> dict[str, Any]:
    """Return an entry for a part, without its id and destination."""
    ends = {"prefix": part.prefix, "suffix": part.suffix}
    rules = [
        {"Name": name, "Value": quoted(value, safe="/*")} for name, value in ends.items() if value
    ]
    key_filter = {"Filter": {"Key": {"FilterRules": rules}}} if rules else {}
    return {"Events": list(part.events), **key_filter}


def _share_keys(entry: Mapping[str, Any], prefix: str, suffix: str) -> bool:
    """Return True if a key with this prefix and suffix may pass the filter of an entry."""
    its_prefix, its_suffix = _ends(entry)
    return (its_prefix.startswith(prefix) or prefix.startswith(its_prefix)) and (
        its_suffix.endswith(suffix) or suffix.endswith(its_suffix)
    )


def _ends(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return the prefix and suffix of an entry's filter.

    S3 capitalizes their names, and wants their values as it writes keys into events: a value as it
    is typed, such as `year=2026/`, matches nothing.
    """
    values = {name: unquote_plus(value) for name, value in _filter(entry).items()}
    return values.get("prefix", ""), values.get("suffix", "")


def _filter(entry: Mapping[str, Any]) -> dict[str, str]:
    rules = entry.get("Filter", {}).get("Key", {}).get("FilterRules", [])
    return {rule["Name"].lower(): rule["Value"] for rule in rules if rule["Value"]}


def _is_encoded(entry: Mapping[str, Any]) -> bool:
    """Return True if an entry's filter is encoded, and so matches what it says."""
    return _filter(entry) == _filter(_entry_of(part_of(entry)))
