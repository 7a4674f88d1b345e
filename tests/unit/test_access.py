"""Which calls are logged for which rules, and that a trail's other selectors stay."""

import copy
from typing import Any

import pytest

from bucketcast import access
from bucketcast.access import Asked
from bucketcast.rules import Rule

BUCKET = "arn:aws:s3:::uploads"
NAME = access.selector_name("Bucketcast", "uploads")
THEIRS = {"Name": "theirs", "FieldSelectors": [{"Field": "eventCategory", "Equals": ["Data"]}]}


def rule(*events: str, prefix: str = "") -> Rule:
    return Rule(bucket="uploads", arn="arn:minio:sqs::a:webhook", events=events, prefix=prefix)


@pytest.mark.parametrize(
    ("rules", "asked"),
    [
        ((), Asked((), ())),
        ((rule("s3:ObjectCreated:Put", "s3:ObjectRemoved:*"),), Asked((), ())),
        ((rule("s3:ObjectAccessed:Head"),), Asked(("HeadObject",), ("",))),
        # S3 itself notifies of retention, and would tell it twice.
        ((rule("s3:ObjectCreated:*", prefix="in/"),), Asked(("PutObjectLegalHold",), ("in/",))),
        (
            (rule("s3:ObjectAccessed:Get", prefix="a/"), rule("s3:ObjectAccessed:Get", prefix="b")),
            Asked(("GetObject",), ("a/", "b")),
        ),
        (
            (
                rule("s3:ObjectAccessed:Get", prefix="a/b*c"),
                rule("s3:ObjectAccessed:Get", prefix="a/"),
            ),
            Asked(("GetObject",), ("a/",)),
        ),
        (
            (rule("s3:ObjectAccessed:Get", prefix="a/"), rule("s3:ObjectAccessed:Head")),
            Asked(("GetObject", "HeadObject"), ("",)),
        ),
    ],
)
def test_only_what_a_rule_asks_for_is_logged(rules: tuple[Rule, ...], asked: Asked) -> None:
    assert access.asked(rules) == asked


def test_many_prefixes_leave_room_for_the_selectors_of_others() -> None:
    many = [rule("s3:ObjectAccessed:Get", prefix=f"{number:03}/") for number in range(51)]
    assert access.asked(many) == Asked(("GetObject",), ("",))


def test_a_selector_names_operations_and_keys() -> None:
    wanted = Asked(("GetObject",), ("in/",))
    (made,) = access.selectors({}, NAME, BUCKET, wanted)
    assert made["FieldSelectors"] == [
        {"Field": "eventCategory", "Equals": ["Data"]},
        {"Field": "resources.type", "Equals": ["AWS::S3::Object"]},
        {"Field": "eventName", "Equals": ["GetObject"]},
        {"Field": "resources.ARN", "StartsWith": ["arn:aws:s3:::uploads/in/"]},
    ]
    assert access.selected({"AdvancedEventSelectors": [THEIRS, made]}, NAME) == wanted
    assert access.selected({"AdvancedEventSelectors": [THEIRS]}, NAME) is None


def test_ours_is_replaced_and_goes_again_and_theirs_stays() -> None:
    found: Any = {"AdvancedEventSelectors": [THEIRS]}
    before = copy.deepcopy(found)
    once = access.selectors(found, NAME, BUCKET, Asked(("GetObject",), ("",)))
    wanted = Asked(("HeadObject",), ("",))
    twice = access.selectors({"AdvancedEventSelectors": once}, NAME, BUCKET, wanted)
    assert (len(twice), twice[0]) == (2, THEIRS)
    none = access.selectors({"AdvancedEventSelectors": twice}, NAME, BUCKET, Asked((), ()))
    assert none == [THEIRS]
    assert found == before


@pytest.mark.parametrize(
    ("kind", "only"), [("All", []), ("ReadOnly", ["true"]), ("WriteOnly", ["false"])]
)
def test_basic_selectors_of_management_events_keep_what_they_say(
    kind: str, only: list[str]
) -> None:
    basic = {"ReadWriteType": kind, "IncludeManagementEvents": True, "DataResources": []}
    wanted = Asked(("GetObject",), ("",))
    kept, _ = access.selectors({"EventSelectors": [basic]}, NAME, BUCKET, wanted)
    fields = {each["Field"]: each["Equals"] for each in kept["FieldSelectors"]}
    assert fields == {"eventCategory": ["Management"], **({"readOnly": only} if only else {})}


@pytest.mark.parametrize(
    "more",
    [{"DataResources": [{"Type": "x"}]}, {"ExcludeManagementEventSources": ["kms.amazonaws.com"]}],
)
def test_basic_selectors_that_say_more_are_left_to_their_owner(more: dict[str, Any]) -> None:
    found = {"EventSelectors": [{"ReadWriteType": "All", **more}]}
    with pytest.raises(access.NotSelectableError, match="name another trail"):
        access.selectors(found, NAME, BUCKET, Asked(("GetObject",), ("",)))


def test_the_pattern_takes_calls_that_succeeded_and_only_ours() -> None:
    detail = access.pattern("uploads")["detail"]
    assert detail["errorCode"] == [{"exists": False}]
    assert detail["requestParameters"] == {"bucketName": ["uploads"]}
    assert {"GetObject", "PutObjectLegalHold", "CreateBucket"} <= set(detail["eventName"])
    assert "PutObjectRetention" not in detail["eventName"]


def test_no_bucket_can_be_called_as_the_rule_of_anothers_access_events() -> None:
    assert access.rule_name("Bucketcast", "uploads") == "Bucketcast-attached-access_uploads"
