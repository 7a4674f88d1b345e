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


def selectors(found: Any, wanted: AccessCalls, bucket: str = "uploads") -> list[dict[str, Any]]:
    return trail_selectors.selectors(found, STACK, bucket, wanted)


def followed(*requested: tuple[str, AccessCalls], found: Any = None) -> dict[str, Any]:
    """What a trail has after the buckets' rules were followed one after the other."""
    trail: dict[str, Any] = {"AdvancedEventSelectors": found or [THEIRS]}
    for bucket, wanted in requested:
        trail = {"AdvancedEventSelectors": selectors(trail, wanted, bucket)}
        assert trail_selectors.values(trail["AdvancedEventSelectors"]) <= 500
    return trail


def others(values: int) -> dict[str, Any]:
    """A selector of somebody else that takes so many values."""
    field = {"Field": "resources.ARN", "StartsWith": [str(number) for number in range(values)]}
    return {"Name": "theirs", "FieldSelectors": [field]}


def test_a_selector_names_operations_and_keys() -> None:
    wanted = AccessCalls(("GetObject",), ("in/",))
    (made,) = selectors({}, wanted)
    assert made["FieldSelectors"] == [
        {"Field": "eventCategory", "Equals": ["Data"]},
        {"Field": "resources.type", "Equals": ["AWS::S3::Object"]},
        {"Field": "eventName", "Equals": ["GetObject"]},
        {"Field": "resources.ARN", "StartsWith": ["arn:aws:s3:::uploads/in/"]},
    ]
    found = {"AdvancedEventSelectors": [THEIRS, made]}
    assert trail_selectors.selected(found, STACK) == {"uploads": wanted}
    assert trail_selectors.selected({"AdvancedEventSelectors": [THEIRS]}, STACK) == {}


def test_ours_is_replaced_and_goes_again_and_theirs_stays() -> None:
    found: Any = {"AdvancedEventSelectors": [THEIRS]}
    before = copy.deepcopy(found)
    once = selectors(found, READS)
    twice = selectors({"AdvancedEventSelectors": once}, AccessCalls(("HeadObject",), ("",)))
    assert (len(twice), twice[0]) == (2, THEIRS)
    assert selectors({"AdvancedEventSelectors": twice}, AccessCalls((), ())) == [THEIRS]
    assert found == before


@pytest.mark.parametrize(
    ("kind", "only"), [("All", []), ("ReadOnly", ["true"]), ("WriteOnly", ["false"])]
)
def test_basic_selectors_of_management_events_are_preserved(kind: str, only: list[str]) -> None:
    basic = {"ReadWriteType": kind, "IncludeManagementEvents": True, "DataResources": []}
    kept, _ = selectors({"EventSelectors": [basic]}, READS)
    fields = {each["Field"]: each["Equals"] for each in kept["FieldSelectors"]}
    assert fields == {"eventCategory": ["Management"], **({"readOnly": only} if only else {})}


@pytest.mark.parametrize(
    "more",
    [{"DataResources": [{"Type": "x"}]}, {"ExcludeManagementEventSources": ["kms.amazonaws.com"]}],
)
def test_basic_selectors_with_more_are_left_to_their_owner(more: dict[str, Any]) -> None:
    found = {"EventSelectors": [{"ReadWriteType": "All", **more}]}
    with pytest.raises(BucketcastError, match="name another trail"):
        selectors(found, READS)


def test_prefixes_are_named_while_there_is_room() -> None:
    wanted = AccessCalls(("GetObject",), MANY)
    nine = [(f"bucket-{number}", wanted) for number in range(9)]
    # 9 buckets take 9 times 53 values, and others one.
    found = followed(*nine)
    assert trail_selectors.values(found["AdvancedEventSelectors"]) == 9 * 53 + 1
    assert trail_selectors.selected(found, STACK) == dict(nine)


def test_at_the_limit_nothing_is_dropped() -> None:
    wanted = AccessCalls(("GetObject",), MANY)
    found = followed(("uploads", wanted), found=[others(500 - 53)])
    assert trail_selectors.values(found["AdvancedEventSelectors"]) == 500
    assert trail_selectors.selected(found, STACK) == {"uploads": wanted}


def test_past_the_limit_the_bucket_that_changes_is_logged_as_a_whole() -> None:
    wanted = AccessCalls(("GetObject",), MANY)
    ten = [(f"bucket-{number}", wanted) for number in range(10)]
    found = trail_selectors.selected(followed(*ten), STACK)
    assert found == {**dict(ten), "bucket-9": wanted.whole}
    # Once more it is the same: nothing is written to and fro.
    assert trail_selectors.selected(followed(*ten, ten[9]), STACK) == found


def test_prefixes_come_back_when_there_is_room_again() -> None:
    wanted = AccessCalls(("GetObject",), MANY)
    ten = [(f"bucket-{number}", wanted) for number in range(10)]
    found = followed(*ten, ("bucket-0", AccessCalls((), ())), ten[9])
    assert trail_selectors.selected(found, STACK) == dict(ten[1:])


def test_the_prefixes_of_others_are_dropped_where_that_is_not_enough() -> None:
    wanted = AccessCalls(("GetObject",), MANY)
    nine = [(f"bucket-{number}", wanted) for number in range(9)]
    more = [(f"other-{number:02}", READS) for number in range(10)]
    found = trail_selectors.selected(followed(*nine, *more), STACK)
    assert found.keys() == {name for name, _ in (*nine, *more)}
    assert [name for name, one in found.items() if one.prefixes == MANY] == [
        f"bucket-{number}" for number in range(1, 9)
    ]


def test_hundreds_of_buckets_share_one_selector() -> None:
    every = AccessCalls(tuple(sorted(CALLS)), ("in/",))
    most = 500 - 1 - 2 - len(CALLS)
    buckets = [(f"bucket-{number:03}", every) for number in range(most)]
    found = followed(*buckets)
    assert len(found["AdvancedEventSelectors"]) == 2
    assert trail_selectors.least_values(most) + 1 == 500
    seen = trail_selectors.selected(found, STACK)
    assert len(seen) == most
    assert all(one.covers(every) for one in seen.values())
    with pytest.raises(BucketcastError, match="name another trail"):
        selectors(found, every, "one-too-many")
    fewer = {"AdvancedEventSelectors": selectors(found, AccessCalls((), ()), "bucket-000")}
    assert "bucket-000" not in trail_selectors.selected(fewer, STACK)
    assert len(trail_selectors.selected(fewer, STACK)) == most - 1


def test_a_selector_of_a_new_trail_matches_nothing() -> None:
    made = trail_selectors.nothing("arn:aws:s3:::log")
    fields = {each["Field"]: each for each in made["FieldSelectors"]}
    assert fields["eventCategory"]["Equals"] == ["Data"]
    assert fields["resources.ARN"]["StartsWith"] == ["arn:aws:s3:::log/unused/"]
    assert trail_selectors.selected({"AdvancedEventSelectors": [made]}, STACK) == {}
