"""How the APIs about topics fail: each in its own format, without internal details."""

import asyncio
import json
from collections.abc import MutableMapping
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from bucketcast.control.errors import S3Error
from bucketcast.control.pubsub.api import Pubsub
from bucketcast.control.request_body import ClientDisconnected
from bucketcast.control.secure import secure
from bucketcast.control.sns.api import Sns
from bucketcast.control.topic_api import TopicApi, TopicCall
from bucketcast.errors import BucketcastError
from bucketcast.topics.errors import TopicError
from tests.unit.control.requests import gate, scope_of, signed

SPACE = "{https://sns.amazonaws.com/doc/2010-03-31/}"


class Call:
    """A call whose action raises an error, or returns a document; None where the API is off."""

    def __init__(self, does: Exception | bytes | None, kind: Any, method: str = "POST") -> None:
        self.sent: list[MutableMapping[str, Any]] = []
        self.is_passed_on = False
        target = "/" if kind is Sns else "/topics"
        scope = scope_of(signed(method, target, b"left"))
        self.unread = [{"type": "http.request", "body": b"left", "more_body": False}]

        async def receive() -> MutableMapping[str, Any]:
            return self.unread.pop()

        async def send(message: MutableMapping[str, Any]) -> None:
            self.sent.append(message)

        async def others(*_: Any) -> None:
            self.is_passed_on = True

        class Api(kind):  # type: ignore[misc]
            def __init__(self) -> None:
                TopicApi.__init__(self, gate(), secure("never"), others)

            async def is_on(self) -> bool:
                return does is not None

            def run(self, _: TopicCall) -> bytes:
                if isinstance(does, Exception):
                    raise does
                return does or b""

        asyncio.run(Api()(scope, receive, send))

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def body(self) -> str:
        return bytes(self.sent[1]["body"]).decode()


@pytest.mark.parametrize(
    ("error", "status", "code", "code_of_s3"),
    [
        (TopicError("NotFound", "no t1"), 404, "NotFound", "NoSuchKey"),
        (TopicError("AuthorizationError", "not yours"), 403, "AuthorizationError", "AccessDenied"),
        (S3Error("SignatureDoesNotMatch"), 403, "SignatureDoesNotMatch", "SignatureDoesNotMatch"),
        (BucketcastError("hunter2"), 503, "ServiceUnavailable", "ServiceUnavailable"),
        (ZeroDivisionError("hunter2"), 500, "InternalError", "InternalError"),
    ],
)
def test_an_error_is_answered_in_the_apis_format(
    error: Exception, status: int, code: str, code_of_s3: str
) -> None:
    in_xml, in_json = Call(error, Sns), Call(error, Pubsub)
    assert (in_xml.status, in_json.status) == (status, status)
    tree = ET.fromstring(in_xml.body)  # noqa: S314 - our own answer
    assert tree.findtext(f"{SPACE}Error/{SPACE}Code") == code
    sender = "Receiver" if status >= 500 else "Sender"
    assert tree.findtext(f"{SPACE}Error/{SPACE}Type") == sender
    assert json.loads(in_json.body)["Code"] == code_of_s3
    assert "hunter2" not in in_xml.body + in_json.body


def test_the_rest_of_a_refused_body_is_read_or_the_client_never_sees_why() -> None:
    assert not Call(S3Error("AccessDenied"), Sns).unread


def test_a_head_has_the_headers_alone() -> None:
    call = Call(b"{}", Pubsub, "HEAD")
    assert (dict(call.sent[0]["headers"])[b"content-length"], call.body) == (b"2", "")


def test_where_it_is_disabled_nothing_is_read_or_sent() -> None:
    call = Call(None, Pubsub)
    assert (call.is_passed_on, call.sent, len(call.unread)) == (True, [], 1)


def test_a_client_that_is_gone_gets_nothing() -> None:
    with pytest.raises(ClientDisconnected):
        Call(ClientDisconnected(), Pubsub)
