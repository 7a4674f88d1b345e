"""A configuration that asks for nothing but reads, where no trail logs them, would say nothing."""

import pytest

from bucketcast.notifications.api.checks import require_logged
from bucketcast.rules import Rule
from bucketcast.web.errors import S3Error

HOOK = "arn:minio:sqs::primary:webhook"
GET, HEAD = "s3:ObjectAccessed:Get", "s3:ObjectAccessed:Head"


def rule(*events: str) -> Rule:
    return Rule(bucket="images", arn=HOOK, events=events)


@pytest.mark.parametrize("events", [("s3:ObjectAccessed:*",), (GET, HEAD)])
def test_access_events_that_no_trail_logs_are_refused(events: tuple[str, ...]) -> None:
    with pytest.raises(S3Error) as refused:
        require_logged([rule(*events)], [], ())
    assert (refused.value.code, refused.value.status) == ("InvalidArgument", 400)
    for expected in (events[0], 'access_events = ["get"', "[bucket.images]", "event add"):
        assert expected in refused.value.message
    require_logged([rule(*events)], [], (HEAD,))


def test_rule_with_other_events_too_is_accepted() -> None:
    """As what `mc event add` asks for by default."""
    require_logged([rule("s3:ObjectCreated:*", "s3:ObjectAccessed:*")], [], ())


def test_stored_rule_may_be_written_back() -> None:
    stored = rule("s3:ObjectAccessed:*")
    require_logged([stored, rule("s3:ObjectCreated:*")], [stored], ())
