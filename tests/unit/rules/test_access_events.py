"""Which events of a rule nobody reports."""

import pytest

from bucketcast.notifications.eventbridge import access_pattern
from bucketcast.rules.access_events import NAMES, api_calls, hint, not_logged
from bucketcast.rules.sent_events import notified_events
from bucketcast.sources.cloudtrail import CALLS

READS = "s3:ObjectAccessed:*"
GET, HEAD = "s3:ObjectAccessed:Get", "s3:ObjectAccessed:Head"


def test_names_are_all_events_of_cloudtrail_that_s3_does_not_notify_of() -> None:
    assert notified_events("s3:ObjectRetention:Put")
    assert sorted(NAMES.values()) == sorted({*CALLS.values()} - {"s3:ObjectCreated:PutRetention"})


@pytest.mark.parametrize(
    ("events", "logged", "expected"),
    [
        ((GET,), (), [GET]),
        ((GET, HEAD), (HEAD,), [GET]),
        ((READS,), (), [READS]),
        ((READS,), (HEAD,), []),
        (("s3:ObjectCreated:*", "s3:ObjectRemoved:Delete"), (), []),
        (("s3:ObjectCreated:*", "s3:ObjectCreated:PutLegalHold"), (GET,), 1),
        (("s3:ObjectCreated:*", READS), (), [READS]),
        (("s3:ObjectAccessed:*", "s3:ObjectRemoved:*", "s3:ObjectCreated:*"), (), []),
    ],
)
def test_events_that_nobody_logs(
    events: tuple[str, ...], logged: tuple[str, ...], expected: list[str] | int
) -> None:
    wanted = [events[expected]] if isinstance(expected, int) else expected
    assert not_logged(events, logged) == wanted


def test_hint_has_the_key_and_the_price() -> None:
    text = hint("uploads", [READS, "s3:ObjectCreated:PutLegalHold"], ())
    assert f"does not notify of {READS}, s3:ObjectCreated:PutLegalHold: put" in text
    assert 'access_events = ["get", "put-legal-hold"] into [bucket.uploads]' in text
    assert "$1.00 per million" in text


def test_hint_keeps_what_is_logged() -> None:
    assert 'access_events = ["head", "get"] into' in hint("uploads", [GET], (HEAD,))


def test_access_pattern_matches_only_the_buckets_successful_calls() -> None:
    detail = access_pattern("uploads", [HEAD, "s3:BucketCreated:*"])["detail"]
    assert detail == {
        "eventSource": ["s3.amazonaws.com"],
        "eventName": ["HeadObject", "CreateBucket"],
        "requestParameters": {"bucketName": ["uploads"]},
        "errorCode": [{"exists": False}],
    }


def test_an_event_has_one_call() -> None:
    assert api_calls([GET, GET]) == ["GetObject"]
