"""A trail's selectors: ours follow the rules within its limits, and those of others stay."""

import copy
from typing import Any

import pytest

from bucketcast.errors import BucketcastError
from bucketcast.rules import trail_selectors
from bucketcast.rules.access_events import CALLS, AccessCalls

STACK = "Bucketcast"
THEIRS = {"Name": "theirs", "FieldSelectors": [{"Field": "eventCategory", "Equals": ["Data"]}]}
READS = AccessCalls(("GetObject",), ("",))
MANY = tuple(f"{number:02}/" for number in range(50))


def update(trail: Any, wanted: AccessCalls, bucket: str = "uploads") -> list[dict[str, Any]]:
    return trail_selectors.update_selectors(trail, STACK, bucket, wanted)


def updated(*requested: tuple[str, AccessCalls], theirs: Any = None) -> dict[str, Any]:
    """The trail after updates for these buckets, in this order."""
    trail: dict[str, Any] = {"AdvancedEventSelectors": theirs or [THEIRS]}
    for bucket, wanted in requested:
        trail = {"AdvancedEventSelectors": update(trail, wanted, bucket)}
        assert trail_selectors.count_values(trail["AdvancedEventSelectors"]) <= 500
    return trail


def others(values: int) -> dict[str, Any]:
    """Another owner's selector with so many values."""
    field = {"Field": "resources.ARN", "StartsWith": [str(number) for number in range(values)]}
    return {"Name": "theirs", "FieldSelectors": [field]}


def test_a_selector_names_operations_and_keys() -> None:
    wanted = AccessCalls(("GetObject",), ("in/",))
    (selector,) = update({}, wanted)
    assert selector["FieldSelectors"] == [
        {"Field": "eventCategory", "Equals": ["Data"]},
        {"Field": "resources.type", "Equals": ["AWS::S3::Object"]},
        {"Field": "eventName", "Equals": ["GetObject"]},
        {"Field": "resources.ARN", "StartsWith": ["arn:aws:s3:::uploads/in/"]},
    ]
    trail = {"AdvancedEventSelectors": [THEIRS, selector]}
    assert trail_selectors.read_calls(trail, STACK) == {"uploads": wanted}
    assert trail_selectors.read_calls({"AdvancedEventSelectors": [THEIRS]}, STACK) == {}


def test_update_replaces_and_removes_only_our_selector() -> None:
    trail: Any = {"AdvancedEventSelectors": [THEIRS]}
    before = copy.deepcopy(trail)
    once = update(trail, READS)
    twice = update({"AdvancedEventSelectors": once}, AccessCalls(("HeadObject",), ("",)))
    assert (len(twice), twice[0]) == (2, THEIRS)
    assert update({"AdvancedEventSelectors": twice}, AccessCalls((), ())) == [THEIRS]
    assert trail == before


@pytest.mark.parametrize(
    ("kind", "only"), [("All", []), ("ReadOnly", ["true"]), ("WriteOnly", ["false"])]
)
def test_basic_selectors_of_management_events_are_preserved(kind: str, only: list[str]) -> None:
    basic = {"ReadWriteType": kind, "IncludeManagementEvents": True, "DataResources": []}
    selector, _ = update({"EventSelectors": [basic]}, READS)
    fields = {field["Field"]: field["Equals"] for field in selector["FieldSelectors"]}
    assert fields == {"eventCategory": ["Management"], **({"readOnly": only} if only else {})}


@pytest.mark.parametrize(
    "more",
    [{"DataResources": [{"Type": "x"}]}, {"ExcludeManagementEventSources": ["kms.amazonaws.com"]}],
)
def test_basic_selectors_of_data_events_are_refused(more: dict[str, Any]) -> None:
    trail = {"EventSelectors": [{"ReadWriteType": "All", **more}]}
    with pytest.raises(BucketcastError, match="name another trail"):
        update(trail, READS)


def test_selectors_name_prefixes_within_the_limit() -> None:
    wanted = AccessCalls(("GetObject",), MANY)
    nine = [(f"bucket-{number}", wanted) for number in range(9)]
    # 9 buckets take 53 values each, the other selector takes one.
    trail = updated(*nine)
    assert trail_selectors.count_values(trail["AdvancedEventSelectors"]) == 9 * 53 + 1
    assert trail_selectors.read_calls(trail, STACK) == dict(nine)


def test_selectors_at_the_limit_keep_their_prefixes() -> None:
    wanted = AccessCalls(("GetObject",), MANY)
    trail = updated(("uploads", wanted), theirs=[others(500 - 53)])
    assert trail_selectors.count_values(trail["AdvancedEventSelectors"]) == 500
    assert trail_selectors.read_calls(trail, STACK) == {"uploads": wanted}


def test_changed_bucket_loses_its_prefixes_past_the_limit() -> None:
    wanted = AccessCalls(("GetObject",), MANY)
    ten = [(f"bucket-{number}", wanted) for number in range(10)]
    logged = trail_selectors.read_calls(updated(*ten), STACK)
    assert logged == {**dict(ten), "bucket-9": wanted.all_keys}
    # A repeated update changes nothing.
    assert trail_selectors.read_calls(updated(*ten, ten[9]), STACK) == logged


def test_prefixes_return_once_there_is_room() -> None:
    wanted = AccessCalls(("GetObject",), MANY)
    ten = [(f"bucket-{number}", wanted) for number in range(10)]
    trail = updated(*ten, ("bucket-0", AccessCalls((), ())), ten[9])
    assert trail_selectors.read_calls(trail, STACK) == dict(ten[1:])


def test_other_buckets_lose_their_prefixes_if_needed() -> None:
    wanted = AccessCalls(("GetObject",), MANY)
    nine = [(f"bucket-{number}", wanted) for number in range(9)]
    more = [(f"other-{number:02}", READS) for number in range(10)]
    logged = trail_selectors.read_calls(updated(*nine, *more), STACK)
    assert logged.keys() == {name for name, _ in (*nine, *more)}
    assert [name for name, access in logged.items() if access.prefixes == MANY] == [
        f"bucket-{number}" for number in range(1, 9)
    ]


def test_hundreds_of_buckets_share_one_selector() -> None:
    every = AccessCalls(tuple(sorted(CALLS)), ("in/",))
    most = 500 - 1 - 2 - len(CALLS)
    buckets = [(f"bucket-{number:03}", every) for number in range(most)]
    trail = updated(*buckets)
    assert len(trail["AdvancedEventSelectors"]) == 2
    assert trail_selectors.min_values(most) + 1 == 500
    logged = trail_selectors.read_calls(trail, STACK)
    assert len(logged) == most
    assert all(access.covers(every) for access in logged.values())
    with pytest.raises(BucketcastError, match="name another trail"):
        update(trail, every, "one-too-many")
    fewer = {"AdvancedEventSelectors": update(trail, AccessCalls((), ()), "bucket-000")}
    assert "bucket-000" not in trail_selectors.read_calls(fewer, STACK)
    assert len(trail_selectors.read_calls(fewer, STACK)) == most - 1


def test_unused_selector_matches_no_call() -> None:
    selector = trail_selectors.unused_selector("arn:aws:s3:::log")
    fields = {field["Field"]: field for field in selector["FieldSelectors"]}
    assert fields["eventCategory"]["Equals"] == ["Data"]
    assert fields["resources.ARN"]["StartsWith"] == ["arn:aws:s3:::log/unused/"]
    assert trail_selectors.read_calls({"AdvancedEventSelectors": [selector]}, STACK) == {}
