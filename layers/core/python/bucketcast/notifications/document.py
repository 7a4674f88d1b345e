"""A bucket's notification configuration, shared with whoever else wrote into it.

S3 keeps one document a bucket and every write replaces all of it. These functions take the document
as S3's API gives it and return a new one in which only our entry, known by its `Id`, differs.
They do not call S3.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from bucketcast.errors import BucketcastError

Document = Mapping[str, Any]

# Every event that S3 notifies of. S3 has no `s3:*`; a family with one member has no wildcard.
EVENTS: Final = (
    "s3:ObjectCreated:*",
    "s3:ObjectRemoved:*",
    "s3:ObjectRestore:*",
    "s3:ReducedRedundancyLostObject",
    "s3:Replication:*",
    "s3:LifecycleExpiration:*",
    "s3:LifecycleTransition",
    "s3:IntelligentTiering",
    "s3:ObjectTagging:*",
    "s3:ObjectAcl:Put",
    "s3:ObjectAnnotation:*",
    "s3:ObjectRetention:Put",
)

# List in the document -> the key of an entry's destination in it.
_DESTINATIONS: Final = {
    "TopicConfigurations": "TopicArn",
    "QueueConfigurations": "QueueArn",
    "LambdaFunctionConfigurations": "LambdaFunctionArn",
}
_EVENTBRIDGE: Final = "EventBridgeConfiguration"


class Overlap(BucketcastError):
    """Another entry of the bucket already takes events that ours asks for."""


class Part(NamedTuple):
    """The events of a bucket that our entry takes: their names, and how keys begin and end."""

    events: Sequence[str] = EVENTS
    prefix: str = ""
    suffix: str = ""

    @property
    def is_whole(self) -> bool:
        return set(self.events) == set(EVENTS) and not self.prefix and not self.suffix

    def __str__(self) -> str:
        names = "all events" if set(self.events) == set(EVENTS) else ", ".join(self.events)
        return f"{names}{_filter(_entry_of(self))}"


WHOLE: Final = Part()
"""All events of all keys."""


def attach(document: Document, entry_id: str, queue_arn: str, part: Part = WHOLE) -> dict[str, Any]:
    """Let a part of the bucket's events go to a queue; replace the entry with the same `Id`.

    Raises:
        Overlap: an entry of somebody else takes one of the events, which S3 would refuse.
    """
    merged = detach(document, entry_id)
    for destination, other in _entries(merged):
        if not _share_keys(other, part.prefix, part.suffix):
            continue
        taken = [
            event for event in part.events if any(_meet(event, its) for its in other["Events"])
        ]
        if taken:
            raise Overlap(
                f"the notification entry '{other.get('Id', '')}' to {destination}{_filter(other)} "
                f"already takes {', '.join(taken)}: S3 sends an event of a key to one entry only. "
                "Remove that entry, attach the rest with --event, --prefix or --suffix, or use "
                'via = "eventbridge" (--via eventbridge) for this bucket'
            )
    ours = {"Id": entry_id, "QueueArn": queue_arn, **_entry_of(part)}
    merged["QueueConfigurations"] = [*merged.get("QueueConfigurations", []), ours]
    return merged


def is_notified(event: str) -> bool:
    """Return whether S3 notifies of an event or a family of them."""
    return any(fnmatchcase(event, each) for each in EVENTS)


def detach(document: Document, entry_id: str) -> dict[str, Any]:
    """Take the entry with this `Id` out; without one the document comes back as it was."""
    merged: dict[str, Any] = {}
    for kind in _DESTINATIONS:
        kept = [entry for entry in document.get(kind, []) if entry.get("Id") != entry_id]
        if kept:
            merged[kind] = kept
    if document.get(_EVENTBRIDGE) is not None:
        merged[_EVENTBRIDGE] = document[_EVENTBRIDGE]
    return merged


def to_eventbridge(document: Document) -> dict[str, Any]:
    """Make S3 send every event of the bucket to EventBridge.

    There is no way back on purpose: the switch has no owner, and rules of others may rely on it.
    """
    return {**document, _EVENTBRIDGE: document.get(_EVENTBRIDGE) or {}}


def entry_id(stack: str) -> str:
    """Return the `Id` of our entry in a bucket's document."""
    return f"{stack}-ingress"


def is_attached(document: Document, entry_id: str, queue_arn: str, part: Part = WHOLE) -> bool:
    """Return whether our entry is there, for this part of the events and to this queue."""
    wanted = _entry_of(part)
    return any(
        entry.get("Id") == entry_id
        and entry["QueueArn"] == queue_arn
        and set(entry["Events"]) == set(wanted["Events"])
        and _filter(entry) == _filter(wanted)
        for entry in document.get("QueueConfigurations", [])
    )


def part_of(entry: Mapping[str, Any]) -> Part:
    """Return what an entry of a bucket's document takes."""
    return Part(tuple(entry["Events"]), *_ends(entry))


def has_entry(document: Document, entry_id: str) -> bool:
    """Return whether our entry is there, whatever it says."""
    return any(entry.get("Id") == entry_id for entry in document.get("QueueConfigurations", []))


def tells_eventbridge(document: Document) -> bool:
    """Return whether S3 sends the bucket's events to EventBridge."""
    return document.get(_EVENTBRIDGE) is not None


def others(document: Document, entry_id: str) -> list[str]:
    """Return the entries of somebody else, in words: id, destination, filter and events."""
    return [
        f"'{entry.get('Id', '')}' to {destination}{_filter(entry)}: {', '.join(entry['Events'])}"
        for destination, entry in _entries(detach(document, entry_id))
    ]


def lost(before: Document, after: Document, but: str = "") -> list[str]:
    """Return the entries of the first document that the second lacks, except the one named `but`.

    S3 may give entries in another order.
    """
    kept = set(_texts(after, but))
    return [text for text in _texts(before, but) if text not in kept]


def restored(before: Document, after: Document, seen: Document, entry_id: str) -> dict[str, Any]:
    """Return `seen` with our change from `before` to `after` undone and lost entries put back."""
    if set(_texts(seen, "")) == set(_texts(after, "")):
        return dict(before)
    merged = detach(seen, entry_id)
    kept = set(_texts(merged, ""))
    for kind in _DESTINATIONS:
        missing = [entry for entry in before.get(kind, []) if _text(entry) not in kept]
        if missing:
            merged[kind] = [*merged.get(kind, []), *missing]
    return to_eventbridge(merged) if tells_eventbridge(before) else merged


def changes(before: Document, after: Document, entry_id: str) -> list[str]:
    """Return what one document has more or less than the other, of ours, in words."""
    had, has = (has_entry(document, entry_id) for document in (before, after))
    said = []
    if has:
        said.append(f"{'replaced' if had else 'added'} the notification entry '{entry_id}'")
    elif had:
        said.append(f"removed the notification entry '{entry_id}'")
    if tells_eventbridge(after) and not tells_eventbridge(before):
        said.append("made S3 send all events of the bucket to EventBridge")
    return said


def _texts(document: Document, but: str) -> list[str]:
    """Return the entries as text that compares, whatever the order of their fields and events."""
    said = [_text(entry) for _, entry in _entries(document) if not but or entry.get("Id") != but]
    return [*said, _EVENTBRIDGE] if tells_eventbridge(document) else said


def _text(entry: Mapping[str, Any]) -> str:
    plain = {**entry, "Events": sorted(entry["Events"]), "Filter": _filter(entry)}
    return json.dumps(plain, sort_keys=True)


def admits(policy: str, service: str, source_arn: str, action: str = "") -> bool:
    """Return whether a policy lets a service of AWS act on behalf of a source, "" for any action.

    It is that of a queue, or of a key.
    """
    for statement in statements(json.loads(policy or "{}")):
        principal = statement.get("Principal", {})
        services = principal.get("Service", []) if isinstance(principal, dict) else []
        if statement.get("Effect") != "Allow" or service not in _list(services):
            continue
        actions = [each.lower() for each in _list(statement.get("Action", []))]
        if action and not any(fnmatchcase(action.lower(), each) for each in actions):
            continue
        allowed = [
            arn
            for tests in statement.get("Condition", {}).values()
            for key, arns in tests.items()
            if key.lower() == "aws:sourcearn"
            for arn in _list(arns)
        ]
        if not allowed or any(fnmatchcase(source_arn, arn) for arn in allowed):
            return True
    return False


def statements(policy: Mapping[str, Any]) -> list[Any]:
    """Return the statements of a policy, which may hold one without a list."""
    return _list(policy.get("Statement", []))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _entries(document: Document) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for kind, destination in _DESTINATIONS.items():
        for entry in document.get(kind, []):
            yield entry[destination], entry


def _meet(one: str, other: str) -> bool:
    """Return whether two event names or families have an event in common."""
    if one.endswith("*"):
        return other.startswith(one[:-1])
    if other.endswith("*"):
        return one.startswith(other[:-1])
    return one == other


def _entry_of(part: Part) -> dict[str, Any]:
    """Return an entry for a part, without its id and destination."""
    ends = {"prefix": part.prefix, "suffix": part.suffix}
    rules = [{"Name": name, "Value": text} for name, text in ends.items() if text]
    only = {"Filter": {"Key": {"FilterRules": rules}}} if rules else {}
    return {"Events": list(part.events), **only}


def _share_keys(entry: Mapping[str, Any], prefix: str, suffix: str) -> bool:
    """Return whether a key may pass the filter of an entry, and begin and end so."""
    its_prefix, its_suffix = _ends(entry)
    return (its_prefix.startswith(prefix) or prefix.startswith(its_prefix)) and (
        its_suffix.endswith(suffix) or suffix.endswith(its_suffix)
    )


def _ends(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return how the keys of an entry begin and end; S3 capitalizes names."""
    rules = entry.get("Filter", {}).get("Key", {}).get("FilterRules", [])
    found = {rule["Name"].lower(): rule["Value"] for rule in rules}
    return found.get("prefix", ""), found.get("suffix", "")


def _filter(entry: Mapping[str, Any]) -> str:
    """Return the filter in words."""
    ends = zip(("prefix", "suffix"), _ends(entry), strict=True)
    return "".join(f" ({name} '{text}')" for name, text in ends if text)
