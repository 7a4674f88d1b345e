"""Which calls are logged for which rules."""

import pytest

from bucketcast.notifications.eventbridge import access_pattern, access_rule_name
from bucketcast.rules import Rule, access_events
from bucketcast.rules.access_events import AccessCalls


def rule(*events: str, prefix: str = "") -> Rule:
    return Rule(bucket="uploads", arn="arn:minio:sqs::a:webhook", events=events, prefix=prefix)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ((), AccessCalls((), ())),
        ((rule("s3:ObjectCreated:Put", "s3:ObjectRemoved:*"),), AccessCalls((), ())),
        ((rule("s3:ObjectAccessed:Head"),), AccessCalls(("HeadObject",), ("",))),
        # S3 itself notifies of retention: the events would come twice.
        (
            (rule("s3:ObjectCreated:*", prefix="in/"),),
            AccessCalls(("PutObjectLegalHold",), ("in/",)),
        ),
        (
            (rule("s3:ObjectAccessed:Get", prefix="a/"), rule("s3:ObjectAccessed:Get", prefix="b")),
            AccessCalls(("GetObject",), ("a/", "b")),
        ),
        (
            (
                rule("s3:ObjectAccessed:Get", prefix="a/b*c"),
                rule("s3:ObjectAccessed:Get", prefix="a/"),
            ),
            AccessCalls(("GetObject",), ("a/",)),
        ),
        (
            (rule("s3:ObjectAccessed:Get", prefix="a/"), rule("s3:ObjectAccessed:Head")),
            AccessCalls(("GetObject", "HeadObject"), ("",)),
        ),
    ],
)
def test_only_what_a_rule_asks_for_is_logged(
    rules: tuple[Rule, ...], expected: AccessCalls
) -> None:
    assert access_events.required_calls(rules) == expected


def test_many_prefixes_leave_room_for_the_selectors_of_others() -> None:
    many = [rule("s3:ObjectAccessed:Get", prefix=f"{number:03}/") for number in range(51)]
    assert access_events.required_calls(many) == AccessCalls(("GetObject",), ("",))


def test_the_pattern_matches_only_our_successful_calls() -> None:
    detail = access_pattern("uploads")["detail"]
    assert detail["errorCode"] == [{"exists": False}]
    assert detail["requestParameters"] == {"bucketName": ["uploads"]}
    assert {"GetObject", "PutObjectLegalHold"} <= set(detail["eventName"])
    assert not {"PutObjectRetention", "CreateBucket"} & set(detail["eventName"])


def test_that_a_bucket_is_made_is_taken_where_a_trail_tells_of_it() -> None:
    detail = access_pattern("uploads", bucket_events=True)["detail"]
    assert {"GetObject", "CreateBucket", "DeleteBucket"} <= set(detail["eventName"])


def test_no_bucket_can_be_called_as_the_rule_of_anothers_access_events() -> None:
    assert access_rule_name("Bucketcast", "uploads") == "Bucketcast-attached-access_uploads"
