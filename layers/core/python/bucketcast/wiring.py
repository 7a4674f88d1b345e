"""A bucket's notification configuration, shared with whoever else wrote into it.

S3 keeps one document a bucket and every write replaces all of it. These functions take the document
as S3's API gives it and return a new one in which only our entry, known by its `Id`, differs.
They do not call S3.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

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


def attach(
    document: Document,
    entry_id: str,
    queue_arn: str,
    events: Sequence[str] = EVENTS,
) -> dict[str, Any]:
    """Let the bucket's `events`, of every key, go to a queue; replaces what has the same `Id`.

    Raises:
        Overlap: an entry of somebody else takes one of the events, which S3 would refuse.
    """
    merged = detach(document, entry_id)
    for destination, other in _entries(merged):
        taken = [event for event in events if any(_meet(event, its) for its in other["Events"])]
        if taken:
            raise Overlap(
                f"the notification entry '{other.get('Id', '')}' to {destination}{_filter(other)} "
                f"already takes {', '.join(taken)}: S3 sends an event of a key to one entry only. "
                f'Remove that entry, or use via = "eventbridge" for this bucket'
            )
    ours = {"Id": entry_id, "QueueArn": queue_arn, "Events": list(events)}
    merged["QueueConfigurations"] = [*merged.get("QueueConfigurations", []), ours]
    return merged


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
    """Switch on that S3 tells EventBridge of every event of the bucket.

    There is no way back on purpose: the switch has no owner, and rules of others may rely on it.
    """
    return {**document, _EVENTBRIDGE: document.get(_EVENTBRIDGE) or {}}


def _entries(document: Document) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for kind, destination in _DESTINATIONS.items():
        for entry in document.get(kind, []):
            yield entry[destination], entry


def _meet(one: str, other: str) -> bool:
    """Whether two event names or families have an event in common."""
    if one.endswith("*"):
        return other.startswith(one[:-1])
    if other.endswith("*"):
        return one.startswith(other[:-1])
    return one == other


def _filter(entry: Mapping[str, Any]) -> str:
    rules = entry.get("Filter", {}).get("Key", {}).get("FilterRules", [])
    return "".join(f" ({rule['Name'].lower()} '{rule['Value']}')" for rule in rules)
