"""Topic calls as they are on the wire: signatures, forms of both editions, and the XML itself."""

import asyncio
from typing import Any
from unittest.mock import AsyncMock, Mock
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

import pytest
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from bucketcast.topics.api.sns import Sns
from bucketcast.topics.api.user_topics import UserTopics
from bucketcast.web.request_body import ClientDisconnected
from bucketcast.web.secure import secure
from tests.unit.topics.api.sns_calls import URL, Server
from tests.unit.web.requests import REGION, Response, Wire, authenticator, scope_of, signed

FORM = "application/x-www-form-urlencoded; charset=utf-8"
SPACE = "{https://sns.amazonaws.com/doc/2010-03-31/}"


def post(
    server: Server,
    body: str | dict[str, str],
    *,
    user: str = "ANN",
    auth: Any = SigV4Auth,
    service: str = "sns",
) -> tuple[int, str]:
    text = (body if isinstance(body, str) else urlencode(body)).encode()
    request = AWSRequest("POST", f"{URL}/", {"Content-Type": FORM}, text)
    if auth is not None:
        auth(Credentials(user, user * 2), service, REGION).add_auth(request)
    status, headers, answer = server.call("POST", "/", dict(request.headers), text)
    assert headers["content-type"] == "application/xml"
    return status, answer.decode()


def attributes_of(server: Server) -> str:
    arn = "arn:aws:sns:us-east-1:acme:t1"
    status, answer = post(server, {"Action": "GetTopic", "TopicArn": arn})
    assert status == 200, answer
    return answer


def error(answer: str) -> str:
    tree = ET.fromstring(answer)  # noqa: S314 - our own answer
    assert tree.tag == f"{SPACE}ErrorResponse"
    assert tree.findtext(f"{SPACE}RequestId")
    return tree.findtext(f"{SPACE}Error/{SPACE}Code") or ""


@pytest.mark.parametrize(
    ("service", "auth"), [("sns", SigV4Auth), ("s3", S3SigV4Auth), ("s3", SigV4Auth)]
)
def test_calls_are_signed_for_sns_or_s3(server: Server, service: str, auth: Any) -> None:
    """The last is curl's way, which does not send the body's digest, to S3 neither."""
    status, answer = post(server, "Action=ListTopics", service=service, auth=auth)
    assert status == 200, answer


@pytest.mark.parametrize("action", ["CreateTopic&Name=t1", "ListTopics", "GetTopic&TopicArn=x"])
def test_calls_that_are_not_signed_are_refused(server: Server, action: str) -> None:
    status, answer = post(server, f"Action={action}", auth=None)
    assert (status, error(answer)) == (403, "AccessDenied")
    assert list(server.table.topics(None)) == []


def test_a_presigned_call_accepts_nothing_unsigned(server: Server) -> None:
    request = AWSRequest("POST", f"{URL}/?Action=CreateTopic&Name=t1")
    S3SigV4QueryAuth(Credentials("ANN", "ANNANN"), "s3", REGION, expires=60).add_auth(request)
    target = str(request.url).removeprefix(URL)
    status, _, answer = server.call("POST", target, {}, b"push-endpoint=http%3A%2F%2Feve")
    assert (status, error(answer.decode())) == (403, "AccessDenied")
    assert list(server.table.topics(None)) == []
    assert server.call("POST", target, {}, b"")[0] == 200


def test_attributes_come_in_any_order_with_any_number(server: Server) -> None:
    body = (
        "Attributes.entry.99999999999999999999.value=ex&Attributes.entry.0.key=push-endpoint&"
        "Action=CreateTopic&Attributes.entry.7.value=x%20y%2Bz+1&Attributes.entry.0.value="
        "amqp%3A%2F%2Fh&Name=t1&Attributes.entry.007.key=OpaqueData&"
        "Attributes.entry.99999999999999999999.key=amqp-exchange"
    )
    status, answer = post(server, body)
    assert status == 200, answer
    document = attributes_of(server)
    assert "<OpaqueData>x y+z 1</OpaqueData>" in document
    assert "<EndpointAddress>amqp://h</EndpointAddress>" in document
    assert "<EndpointArgs>amqp-exchange=ex</EndpointArgs>" in document


@pytest.mark.parametrize(
    "body",
    [
        "Action=ListTopics&Action=ListTopics",
        "Action",
        "Action=CreateTopic&Name=t1&Attributes.entry.1.value=x",
        "Action=CreateTopic&Name=t1&Attributes.entry.1.key=OpaqueData&Attributes.entry.01.key=x",
        "Action=CreateTopic&Name=t1&OpaqueData=a&Attributes.entry.1.key=OpaqueData",
        "Action=CreateTopic&Name=%ff",
        "Action=CreateTopic&Name=\u00e4",
        "",
        "Name=t1",
        "&".join(f"a{number}=b" for number in range(1_001)),
    ],
)
def test_ambiguous_form_is_refused(server: Server, body: str) -> None:
    status, answer = post(server, body)
    assert (status, error(answer)) == (400, "InvalidArgument"), answer


def test_a_fault_is_answered_without_its_text(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(UserTopics, "page", Mock(side_effect=ZeroDivisionError("hunter2")))
    status, answer = post(server, "Action=ListTopics")
    assert (status, error(answer), "hunter2" in answer) == (500, "InternalError", False)
    assert "<Type>Receiver</Type>" in answer


def test_rest_of_a_refused_body_is_read_and_a_client_that_is_gone_gets_no_answer() -> None:
    api = Sns(authenticator(), secure("never"), Mock(), Mock())
    scope = scope_of(signed("POST", "/", b"x", secret="wrong"), content_length="1")
    wire, response = Wire(b"x"), Response()
    asyncio.run(api(scope, wire, response))
    assert (response.status, wire.read) == (403, 1)
    gone = AsyncMock(return_value={"type": "http.disconnect"})
    with pytest.raises(ClientDisconnected):
        asyncio.run(api(scope_of(signed("POST", "/", b"x"), content_length="1"), gone, Mock()))


def test_answers_have_cephs_xml(server: Server) -> None:
    _, answer = post(server, "Action=CreateTopic&Name=t1&OpaqueData=%01a%26")
    assert answer.startswith(
        '<?xml version="1.0" encoding="UTF-8"?>\n<CreateTopicResponse '
        'xmlns="https://sns.amazonaws.com/doc/2010-03-31/"><CreateTopicResult>'
        "<TopicArn>arn:aws:sns:us-east-1:acme:t1</TopicArn></CreateTopicResult>"
        "<ResponseMetadata><RequestId>"
    )
    assert attributes_of(server).startswith(
        '<?xml version="1.0" encoding="UTF-8"?>\n<GetTopicResponse><GetTopicResult><Topic>'
        "<User>acme$ann</User><Name>t1</Name><EndPoint><EndpointAddress></EndpointAddress>"
        "<EndpointArgs></EndpointArgs><EndpointTopic>t1</EndpointTopic>"
        "<HasStoredSecret>false</HasStoredSecret><Persistent>false</Persistent>"
        "<TimeToLive>None</TimeToLive><MaxRetries>None</MaxRetries>"
        "<RetrySleepDuration>None</RetrySleepDuration></EndPoint>"
        "<TopicArn>arn:aws:sns:us-east-1:acme:t1</TopicArn><OpaqueData>a&amp;</OpaqueData>"
        "<Policy></Policy></Topic></GetTopicResult><ResponseMetadata><RequestId>"
    )
    _, answer = post(server, "Action=ListTopics")
    assert "<ListTopicsResult><Topics><member><User>acme$ann</User>" in answer
    _, answer = post(server, "Action=DeleteTopic&TopicArn=arn:aws:sns:us-east-1:acme:t1")
    assert "><ResponseMetadata><RequestId>" in answer
    ET.fromstring(answer)  # noqa: S314 - our own answer


def test_other_calls_are_forwarded_to_s3(server: Server) -> None:
    for method, target in (("GET", "/"), ("POST", "/bucket"), ("POST", "/bucket?delete")):
        assert server.call(method, target, {}, b"")[0] == 299


def test_body_read_before_the_signature_check_is_limited(server: Server) -> None:
    body = "Action=CreateTopic&Name=t1&OpaqueData=" + "x" * 262_144
    status, answer = post(server, body)
    assert (status, error(answer)) == (400, "EntityTooLarge")
    status, answer = post(server, "Action=CreateTopic&Name=t1&OpaqueData=" + "%C3%A4" * 30_000)
    assert status == 200, answer
