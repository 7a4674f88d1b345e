"""The gateway on Lambda: a call of a function URL is the call that was signed."""

import asyncio
import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest

from bucketcast.gateway.app import S3, build
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.request import RawRequest
from bucketcast.web.responses import Send, send_response
from functions.gateway import url
from tests.unit.web.requests import HOST, allow, authenticator, ready, signed


async def echo(admitted: AuthenticatedRequest, send: Send) -> None:
    call, body = admitted.call, await admitted.body.read(1_000)
    kind = "application/octet-stream" if body == b"\xff" else "application/xml"
    await send_response(send, f"{call.bucket} {call.key} ".encode() + body, content_type=kind)


def answers(call: RawRequest) -> Any:
    return echo if "notification" in call.params else None


async def at_s3(_: AuthenticatedRequest, send: Send) -> None:
    await send_response(send, b"from S3")


def event(method: str, target: str, body: bytes = b"", **changed: str) -> Mapping[str, Any]:
    """What Lambda hands over for a call signed by botocore."""
    request = signed(method, target, body)
    parts = urlsplit(target)
    headers = {"host": HOST, **{name.lower(): value for name, value in request.headers.items()}}
    return {
        "version": "2.0",
        "rawPath": parts.path,
        "rawQueryString": parts.query,
        "headers": {**headers, **changed},
        "requestContext": {"http": {"method": method, "path": parts.path, "sourceIp": "1.2.3.4"}},
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
    }


def called(method: str, target: str, body: bytes = b"", **changed: str) -> dict[str, Any]:
    s3 = S3(authenticator(), allow, answers, at_s3, refusal="objects are at S3")
    app = build(s3, is_ready=ready)
    return asyncio.run(url.answer(app, event(method, target, body, **changed)))


def test_a_call_is_answered() -> None:
    answer = called("PUT", "/images?notification", b"<xml/>")
    assert (answer["statusCode"], answer["body"]) == (200, "images  <xml/>")
    assert answer["headers"]["content-type"] == "application/xml"


def test_an_answer_that_is_no_text_is_packed() -> None:
    answer = called("PUT", "/images?notification", b"\xff")
    assert base64.b64decode(answer["body"]) == b"images  \xff"
    assert answer["isBase64Encoded"] is True


@pytest.mark.parametrize("note", ["é ü", "日本", "é ü".encode().decode("latin-1")])
def test_a_header_beyond_ascii_may_come_decoded_in_any_way(note: str) -> None:
    text = note.encode("latin-1").decode() if "Ã" in note else note
    request = signed("PUT", "/images?notification", b"", {"x-amz-meta-note": text})
    headers = {name.lower(): value for name, value in request.headers.items()}
    headers["x-amz-meta-note"] = note
    answer = called("PUT", "/images?notification", b"", **headers)
    assert answer["statusCode"] == 200


@pytest.mark.parametrize("text", ["é", "日本", "\ud800", "//[", "%ff%zz"])
@pytest.mark.parametrize("place", ["rawPath", "rawQueryString", "header", "name", "body"])
def test_no_text_of_a_call_is_a_fault(place: str, text: str) -> None:
    call = dict(event("PUT", "/images?notification"))
    if place in ("header", "name"):
        more = {"x-note": text} if place == "header" else {f"x-{text}": ""}
        call["headers"] = {**call["headers"], **more}
    else:
        call |= {place: f"/{text}", "isBase64Encoded": place != "body"}
    s3 = S3(authenticator(), allow, answers, at_s3, refusal="objects are at S3")
    answer = asyncio.run(url.answer(build(s3, is_ready=ready), call))
    assert 200 <= answer["statusCode"] < 500


def test_an_answer_that_is_not_utf_8_is_packed() -> None:
    answer = called("PUT", "/images?notification", b"<\xff/>")
    assert base64.b64decode(answer["body"]) == b"images  <\xff/>"


def test_headers_that_are_added_on_the_way_need_no_signature() -> None:
    """By the function URL itself, and by CloudFront or another proxy of AWS."""
    added = {
        "via": "2.0 abc.cloudfront.net (CloudFront)",
        "x-amz-cf-id": "k5Jk==",
        "x-amzn-trace-id": "Root=1-5759e988-bd862e3fe1be46a994272793",
        "x-amzn-tls-version": "TLSv1.3",
        "x-forwarded-for": "192.0.2.7",
        "x-forwarded-host": "www.example.org",
        "x-forwarded-port": "443",
        "x-forwarded-proto": "https",
    }
    assert called("GET", "/images?notification", b"", **added)["statusCode"] == 200


async def fault(_: AuthenticatedRequest, send: Send) -> None:  # noqa: ARG001 - nothing is answered
    raise RuntimeError("nobody foresaw this")


async def half(_: AuthenticatedRequest, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ha", "more_body": True})
    raise RuntimeError("nobody foresaw this")


def test_a_fault_is_answered_as_s3_does() -> None:
    """The framework answers, and raises again for its server to log."""
    s3 = S3(authenticator(), allow, answers, fault, refusal="objects are at S3")
    app = build(s3, is_ready=ready)
    answer = asyncio.run(url.answer(app, event("GET", "/")))
    assert answer["statusCode"] == 500
    assert "<Code>InternalError</Code>" in answer["body"]


def test_half_an_answer_is_none() -> None:
    s3 = S3(authenticator(), allow, answers, half, refusal="objects are at S3")
    app = build(s3, is_ready=ready)
    with pytest.raises(RuntimeError, match="nobody foresaw this"):
        asyncio.run(url.answer(app, event("GET", "/")))


async def parts(_: AuthenticatedRequest, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"<Own", "more_body": True})
    await send({"type": "http.response.body", "body": b"er>"})


def test_an_answer_of_s3_in_chunks_is_whole() -> None:
    """S3 lists buckets in chunks."""
    s3 = S3(authenticator(), allow, answers, parts, refusal="objects are at S3")
    app = build(s3, is_ready=ready)
    assert asyncio.run(url.answer(app, event("GET", "/")))["body"] == "<Owner>"
