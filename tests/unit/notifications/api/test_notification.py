"""Which calls are about notifications, and what becomes of those that are not served."""

from typing import Any

import pytest

from bucketcast.notifications.api import Notifications
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest

NOBODY: Any = None
ANSWERS = Notifications(NOBODY, NOBODY, "us-east-1").answers


def call(method: str, path: str, query: str) -> RawRequest:
    return RawRequest.of(method, path, query, {"host": "gateway"}.items())


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize("query", ["notification", "notification="])
def test_notifications_of_a_bucket_are_answered_here(method: str, query: str) -> None:
    assert ANSWERS(call(method, "/images", query))
    assert ANSWERS(call(method, "/images/", query))


@pytest.mark.parametrize("method", ["POST", "HEAD", "PATCH"])
def test_unsupported_method_is_not_forwarded_to_s3(method: str) -> None:
    with pytest.raises(S3Error, match="MethodNotAllowed"):
        ANSWERS(call(method, "/images", "notification"))


@pytest.mark.parametrize(
    ("method", "path", "query"),
    [
        ("GET", "/images", ""),
        ("GET", "/images", "list-type=2&prefix=notification"),
        ("DELETE", "/images", ""),
        ("PUT", "/images/a", "notification"),
        ("GET", "/", "notification"),
        ("PUT", "/images/a", "events"),
    ],
)
def test_all_else_is_forwarded_to_s3(method: str, path: str, query: str) -> None:
    assert ANSWERS(call(method, path, query)) is None
