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
def test_required_calls_are_those_of_the_rules(
    rules: tuple[Rule, ...], expected: AccessCalls
) -> None:
    assert access_events.required_calls(rules) == expected


def test_required_calls_drop_too_many_prefixes() -> None:
    many = [rule("s3:ObjectAccessed:Get", prefix=f"{number:03}/") for number in range(51)]
    assert access_events.required_calls(many) == AccessCalls(("GetObject",), ("",))


def test_access_pattern_matches_only_the_buckets_successful_calls() -> None:
    detail = access_pattern("uploads")["detail"]
    assert detail["errorCode"] == [{"exists": False}]
    assert detail["requestParameters"] == {"bucketName": ["uploads"]}
    assert {"GetObject", "PutObjectLegalHold"} <= set(detail["eventName"])
    assert not {"PutObjectRetention", "CreateBucket"} & set(detail["eventName"])


def test_access_pattern_includes_bucket_events_if_wanted() -> None:
    detail = access_pattern("uploads", bucket_events=True)["detail"]
    assert {"GetObject", "CreateBucket", "DeleteBucket"} <= set(detail["eventName"])


def test_access_rule_name_is_no_bucket_name() -> None:
    assert access_rule_name("Bucketcast", "uploads") == "Bucketcast-attached-access_uploads"
