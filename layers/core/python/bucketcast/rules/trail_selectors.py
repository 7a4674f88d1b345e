"""A trail's event selectors: one of ours per bucket, beside others', within CloudTrail's limit.

These functions take a trail's selectors from CloudTrail's answer and return new ones in which only
ours differ. They do not call AWS. If all exceed the limit, prefixes are dropped first: those of the
bucket that changes, then those of buckets with the most. If that is not enough, the buckets share
one selector, which logs the calls of any for all of them. A bucket whose rules need no logging is
never logged; selectors that exceed the limit even so are refused.

Source: "Logging data events" and "PutEventSelectors" of the CloudTrail documentation.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from bucketcast.errors import BucketcastError
from bucketcast.rules.access_events import CALLS, AccessCalls

MOST_VALUES: Final = 500
"""Limit of a trail, for all fields of all its selectors."""
MANAGEMENT: Final = MappingProxyType(
    {
        "Name": "Management events, writing",
        "FieldSelectors": [
            {"Field": "eventCategory", "Equals": ["Management"]},
            {"Field": "readOnly", "Equals": ["false"]},
        ],
    }
)
"""Management events that write, among them created and removed buckets."""
_DATA: Final = (
    {"Field": "eventCategory", "Equals": ["Data"]},
    {"Field": "resources.type", "Equals": ["AWS::S3::Object"]},
)
_SHARED: Final = "several buckets"  # no bucket name has a space
_BESIDE: Final = len(_DATA) + len(CALLS)

Document = Mapping[str, Any]


def unused_selector(log_bucket_arn: str) -> dict[str, Any]:
    """Return a selector that matches no call, since a trail must have one."""
    unused = {"Field": "resources.ARN", "StartsWith": [f"{log_bucket_arn}/unused/"]}
    return {"Name": "Nothing, until a rule asks", "FieldSelectors": [*_DATA, unused]}


def min_values(buckets: int) -> int:
    """Return the number of values in one selector that so many buckets share."""
    return _BESIDE + buckets if buckets else 0


def count_values(selectors: Sequence[Document]) -> int:
    """Return the number of values in these selectors, by CloudTrail's count."""
    return sum(
        len(texts)
        for selector in selectors
        for field in selector["FieldSelectors"]
        for key, texts in field.items()
        if key != "Field"
    )


def read_calls(trail: Document, stack: str) -> dict[str, AccessCalls]:
    """Return the calls that a stack's selectors log, by bucket."""
    ours: dict[str, AccessCalls] = {}
    for selector in trail.get("AdvancedEventSelectors") or ():
        if not selector.get("Name", "").startswith(_prefix(stack)):
            continue
        fields = {field["Field"]: field for field in selector["FieldSelectors"]}
        starts: dict[str, list[str]] = {}
        for arn in fields["resources.ARN"]["StartsWith"]:
            bucket, _, prefix = arn.split(":", 5)[5].partition("/")
            starts.setdefault(bucket, []).append(prefix)
        calls = tuple(sorted(fields["eventName"]["Equals"]))
        ours |= {
            bucket: AccessCalls(calls, tuple(sorted(prefixes)))
            for bucket, prefixes in starts.items()
        }
    return ours


def update_selectors(
    trail: Document, stack: str, bucket: str, wanted: AccessCalls, partition: str = "aws"
) -> list[dict[str, Any]]:
    """Return the trail's selectors with one bucket's updated, or removed if it needs no calls.

    Raises:
        BucketcastError: the trail has basic selectors for data events, or no room for more.
    """
    others = [
        selector
        for selector in _advanced_selectors(trail)
        if not selector.get("Name", "").startswith(_prefix(stack))
    ]
    ours = read_calls(trail, stack)
    ours.pop(bucket, None)
    if wanted.calls:
        ours[bucket] = wanted
    room = MOST_VALUES - count_values(others)
    ours |= _drop_prefixes(ours, bucket, _count_separate_values(ours) - room)
    if _count_separate_values(ours) <= room:
        return [
            *others,
            *(
                _selector(f"{_prefix(stack)}{name}", {name: access}, partition)
                for name, access in sorted(ours.items())
            ),
        ]
    shared = _selector(f"{_prefix(stack)}{_SHARED}", ours, partition)
    if count_values([shared]) <= room:
        return [*others, shared]
    raise BucketcastError(
        f"a trail takes {MOST_VALUES} values in its event selectors, others of this one take "
        f"{count_values(others)}, and {len(ours)} buckets need {count_values([shared])} at least: "
        "name another trail for some of them"
    )


def _count_separate_values(ours: Mapping[str, AccessCalls]) -> int:
    """Return the number of values if each bucket has a selector of its own."""
    return sum(len(_DATA) + len(access.calls) + len(access.prefixes) for access in ours.values())


def _drop_prefixes(
    ours: Mapping[str, AccessCalls], first: str, excess: int
) -> dict[str, AccessCalls]:
    """Return the buckets that lose their prefixes to save `excess` values, `first` first."""
    dropped: dict[str, AccessCalls] = {}
    for name in sorted(ours, key=lambda name: (name != first, -len(ours[name].prefixes))):
        if excess <= 0:
            break
        dropped[name] = ours[name].all_keys
        excess -= len(ours[name].prefixes) - 1
    return dropped


def _selector(name: str, ours: Mapping[str, AccessCalls], partition: str) -> dict[str, Any]:
    """Return one advanced event selector for the calls of these buckets."""
    calls = sorted({call for access in ours.values() for call in access.calls})
    starts = [
        f"arn:{partition}:s3:::{bucket}/{prefix}"
        for bucket, access in sorted(ours.items())
        for prefix in access.prefixes
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
    """Return the prefix of the names of a stack's selectors."""
    return f"{stack}: access events of "


def _advanced_selectors(trail: Document) -> list[dict[str, Any]]:
    """Return a trail's selectors as advanced ones, which can name operations."""
    if advanced := trail.get("AdvancedEventSelectors"):
        return list(advanced)
    return [_convert_basic(basic) for basic in trail.get("EventSelectors") or ()]


def _convert_basic(basic: Document) -> dict[str, Any]:
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
