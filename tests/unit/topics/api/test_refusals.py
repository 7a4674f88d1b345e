"""How calls about topics fail: in SNS's format, without internal details."""

import asyncio
from collections.abc import MutableMapping
from typing import Any
from unittest.mock import Mock
from xml.etree import ElementTree as ET

import pytest

from bucketcast.errors import BucketcastError
from bucketcast.topics.api.sns import Sns
from bucketcast.topics.api.user_topics import UserTopics
from bucketcast.topics.errors import TopicError
from bucketcast.web.request_body import ClientDisconnected
from bucketcast.web.secure import secure
from tests.unit.web.requests import SECRET, Response, authenticator, scope_of, signed

SPACE = "{https://sns.amazonaws.com/doc/2010-03-31/}"
FORM = b"Action=ListTopics"


class Call:
    """A call with topics that raise an error; `message_type` is that of the first message."""

    def __init__(
        self,
        error: Exception | None = None,
        *,
        secret: str = SECRET,
        message_type: str = "http.request",
    ) -> None:
        self.response = Response()
        self.unread = [{"type": message_type, "body": FORM, "more_body": False}]

        async def receive() -> MutableMapping[str, Any]:
            return self.unread.pop()

        topics = Mock(UserTopics)
        topics.page.side_effect = error
        api = Sns(authenticator(), secure("never"), Mock(), topics)
        request = signed("POST", "/", FORM, secret=secret)
        scope = scope_of(request, content_length=str(len(FORM)))
        asyncio.run(api(scope, receive, self.response))


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (TopicError("NotFound", "no t1"), 404, "NotFound"),
        (BucketcastError("hunter2"), 503, "ServiceUnavailable"),
        (ZeroDivisionError("hunter2"), 500, "InternalError"),
    ],
)
def test_error_is_answered_in_the_apis_format(error: Exception, status: int, code: str) -> None:
    call = Call(error)
    assert call.response.status == status
    tree = ET.fromstring(call.response.body)  # noqa: S314 - our own answer
    assert tree.findtext(f"{SPACE}Error/{SPACE}Code") == code
    sender = "Receiver" if status >= 500 else "Sender"
    assert tree.findtext(f"{SPACE}Error/{SPACE}Type") == sender
    assert b"hunter2" not in call.response.body


def test_rest_of_a_refused_body_is_read_before_the_answer() -> None:
    call = Call(secret="wrong")
    assert (call.response.status, call.unread) == (403, [])


def test_disconnected_client_gets_no_answer() -> None:
    with pytest.raises(ClientDisconnected):
        Call(message_type="http.disconnect")
