"""A trail's selectors: ours for each bucket, beside those of others, within what a trail takes.

These functions take a trail's selectors as CloudTrail gives them and return new ones in which only
ours differ. They do not call AWS. Where all would be too many, prefixes are dropped first: of the
bucket that changes, then of those with the most. Where that is not enough, the buckets share one
selector, and each has the calls of all logged. A bucket of which no rule asks for anything is never
logged: rather than that, what does not fit is refused.

Source: "Logging data events" and "PutEventSelectors" of the CloudTrail documentation.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from bucketcast.errors import BucketcastError
from bucketcast.rules.access_events import CALLS, AccessCalls

MOST_VALUES: Final = 500
"""A trail's, in all fields of all its selectors."""
MANAGEMENT: Final = MappingProxyType(
    {
        "Name": "Management events, writing",
        "FieldSelectors": [
            {"Field": "eventCategory", "Equals": ["Management"]},
            {"Field": "readOnly", "Equals": ["false"]},
        ],
    }
)
"""Buckets made and removed, and whatever else is made in the region."""
_DATA: Final = (
    {"Field": "eventCategory", "Equals": ["Data"]},
    {"Field": "resources.type", "Equals": ["AWS::S3::Object"]},
)
_SHARED: Final = "several buckets"  # no bucket is called so
_BESIDE: Final = len(_DATA) + len(CALLS)

Document = Mapping[str, Any]


def nothing(log_bucket_arn: str) -> dict[str, Any]:
    """Return a selector that matches no call, since a trail must have one."""
    unused = {"Field": "resources.ARN", "StartsWith": [f"{log_bucket_arn}/unused/"]}
    return {"Name": "Nothing, until a rule asks", "FieldSelectors": [*_DATA, unused]}


def least_values(buckets: int) -> int:
    """Return how many values so many buckets take where they share one selector."""
    return _BESIDE + buckets if buckets else 0


def values(selectors: Sequence[Document]) -> int:
    """Return how many values CloudTrail counts."""
    return sum(
        len(found)
        for selector in selectors
        for field in selector["FieldSelectors"]
        for key, found in field.items()
        if key != "Field"
    )


def selected(found: Document, stack: str) -> dict[str, AccessCalls]:
    """Return what a stack's selectors ask for, by bucket."""
    ours: dict[str, AccessCalls] = {}
    for selector in found.get("AdvancedEventSelectors") or ():
        if not selector.get("Name", "").startswith(_prefix(stack)):
            continue
        fields = {each["Field"]: each for each in selector["FieldSelectors"]}
        starts: dict[str, list[str]] = {}
        for arn in fields["resources.ARN"]["StartsWith"]:
            bucket, _, prefix = arn.split(":", 5)[5].partition("/")
            starts.setdefault(bucket, []).append(prefix)
        calls = tuple(sorted(fields["eventName"]["Equals"]))
        ours |= {bucket: AccessCalls(calls, tuple(sorted(each))) for bucket, each in starts.items()}
    return ours


def selectors(
    found: Document, stack: str, bucket: str, wanted: AccessCalls, partition: str = "aws"
) -> list[dict[str, Any]]:
    """Return the trail's selectors with ours for one bucket; without it where no rule asks.

    Raises:
        BucketcastError: the trail logs data events by basic selectors, or has no room.
    """
    kept = [
        each for each in _advanced(found) if not each.get("Name", "").startswith(_prefix(stack))
    ]
    ours = selected(found, stack)
    ours.pop(bucket, None)
    if wanted.calls:
        ours[bucket] = wanted
    room = MOST_VALUES - values(kept)
    ours |= _dropped(ours, bucket, _single_values(ours) - room)
    if _single_values(ours) <= room:
        return [
            *kept,
            *(
                _selector(f"{_prefix(stack)}{name}", {name: one}, partition)
                for name, one in sorted(ours.items())
            ),
        ]
    shared = _selector(f"{_prefix(stack)}{_SHARED}", ours, partition)
    if values([shared]) <= room:
        return [*kept, shared]
    raise BucketcastError(
        f"a trail takes {MOST_VALUES} values in its event selectors, others of this one take "
        f"{values(kept)}, and {len(ours)} buckets need {values([shared])} at least: name another "
        "trail for some of them"
    )


def _single_values(ours: Mapping[str, AccessCalls]) -> int:
    """Return how many values they take with a selector each."""
    return sum(len(_DATA) + len(one.calls) + len(one.prefixes) for one in ours.values())


def _dropped(ours: Mapping[str, AccessCalls], first: str, over: int) -> dict[str, AccessCalls]:
    """Return those whose prefixes are dropped to save so many values."""
    dropped: dict[str, AccessCalls] = {}
    for name in sorted(ours, key=lambda name: (name != first, -len(ours[name].prefixes))):
        if over <= 0:
            break
        dropped[name] = ours[name].whole
        over -= len(ours[name].prefixes) - 1
    return dropped


def _selector(name: str, ours: Mapping[str, AccessCalls], partition: str) -> dict[str, Any]:
    """Return an advanced event selector for what is asked of some buckets."""
    calls = sorted({call for one in ours.values() for call in one.calls})
    starts = [
        f"arn:{partition}:s3:::{bucket}/{prefix}"
        for bucket, one in sorted(ours.items())
        for prefix in one.prefixes
    ]
    return {
        "Name": name,
        "FieldSelectors": [
            *_DATA,
            {"Field": "eventName", "Equals": calls},
            {"Field": "resources.ARN", "StartsWith": starts},
        ],
    }


def _prefix(stack: str) -> str:
    """Return how the names of a stack's selectors begin."""
    return f"{stack}: access events of "


def _advanced(found: Document) -> list[dict[str, Any]]:
    """Return them in the form that knows operations; of basic ones those for management alone."""
    if advanced := found.get("AdvancedEventSelectors"):
        return list(advanced)
    return [_of_basic(each) for each in found.get("EventSelectors") or ()]


def _of_basic(basic: Document) -> dict[str, Any]:
    if basic.get("DataResources") or basic.get("ExcludeManagementEventSources"):
        raise BucketcastError(
            "the trail has basic event selectors for data events: switch it to advanced event "
            "selectors in CloudTrail's console, which keeps what they say, or name another trail"
        )
    fields: list[dict[str, Any]] = [{"Field": "eventCategory", "Equals": ["Management"]}]
    kinds: Mapping[str, Sequence[str]] = {"ReadOnly": ["true"], "WriteOnly": ["false"]}
    if only := kinds.get(basic.get("ReadWriteType", "All")):
        fields.append({"Field": "readOnly", "Equals": list(only)})
    return {"Name": "Management events", "FieldSelectors": fields}
