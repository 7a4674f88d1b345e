"""The application: who answers what, and how errors come out."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import pytest

from bucketcast.errors import BucketcastError
from bucketcast.gateway.app import S3, build
from bucketcast.users import User
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest
from bucketcast.web.request_body import RequestStream
from bucketcast.web.responses import Handler, Send, send_response
from tests.unit.web.requests import Wire as Sender
from tests.unit.web.requests import allow, authenticator, ready, scope_of, signed


async def at_s3(admitted: AuthenticatedRequest, send: Send) -> None:
    if admitted.call.key == "broken":
        raise ZeroDivisionError
    if admitted.call.key == "no-aws":
        raise BucketcastError("credentials of somebody")
    await send_response(send, b"from S3")


def answered(
    method: str,
    target: str,
    is_ready: Callable[[], Awaitable[None]] = ready,
    **changed: str,
) -> tuple[int, dict[str, str], bytes]:
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    def answers(_: RawRequest) -> None: ...

    async def run() -> None:
        scope = scope_of(signed(method, target), **changed)
        scope["path"] = scope["raw_path"].decode()
        await build(S3(authenticator(), allow, answers, at_s3), is_ready=is_ready)(
            scope, Sender(b""), send
        )

    try:
        asyncio.run(run())
    except ZeroDivisionError:
        assert sent, "the error reached the server before the client was answered"
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, b"".join(each.get("body", b"") for each in sent)


def test_other_calls_are_forwarded_to_s3() -> None:
    assert answered("GET", "/images/a")[2] == b"from S3"


@pytest.mark.parametrize(
    ("key", "status", "code"),
    [("broken", 500, b"InternalError"), ("no-aws", 503, b"ServiceUnavailable")],
)
def test_internal_error_reveals_nothing(key: str, status: int, code: bytes) -> None:
    found, headers, body = answered("GET", f"/images/{key}")
    assert found == status
    assert b"<Code>" + code + b"</Code>" in body
    assert headers["x-amz-request-id"].encode() in body
    assert b"somebody" not in body
    assert b"Zero" not in body


def test_refused_head_has_no_body_and_names_the_error_in_a_header() -> None:
    status, headers, body = answered("HEAD", "/images/a", x_amz_meta_more="unsigned")
    assert (status, body) == (403, b"")
    assert headers["x-minio-error-code"] == "AccessDenied"
    assert "not signed" in headers["x-minio-error-desc"]
    assert "x-minio-error-code" not in answered("GET", "/images/a", authorization="none")[1]


def test_head_with_a_wrong_secret_key_is_no_valid_login_to_mc() -> None:
    """`mc alias set` sends it, and accepts AccessDenied and NoSuchBucket."""
    wrong = signed("HEAD", "/probe", secret="wrong").headers["authorization"]
    _, headers, _ = answered("HEAD", "/probe", authorization=wrong)
    assert headers["x-minio-error-code"] == "SignatureDoesNotMatch"


def test_refused_call_that_expects_100_closes_the_connection() -> None:
    _, headers, _ = answered("PUT", "/images/a", expect="100-continue", x_amz_meta_more="x")
    assert headers["connection"] == "close"


def drained(body: bytes, **headers: str) -> int:
    sender = Sender(body, 1_000)
    named = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    asyncio.run(RequestStream({"headers": named}, sender).drain())
    return sender.read


def test_rest_of_a_refused_body_is_drained() -> None:
    assert drained(b"x" * 10_000, content_length="10000") == 10


@pytest.mark.parametrize(
    "headers", [{"content_length": "99999999999"}, {"content_length": "10", "expect": "x"}, {}]
)
def test_large_or_unsent_body_is_not_drained(headers: dict[str, str]) -> None:
    assert drained(b"x" * 10_000, **headers) == 0


async def unavailable() -> None:
    raise BucketcastError("no answer from AWS")


@pytest.mark.parametrize("path", ["live", "ready", "cluster", "cluster/read"])
def test_minios_health_paths_need_no_signature(path: str) -> None:
    assert answered("GET", f"/minio/health/{path}")[0] == 200


@pytest.mark.parametrize("path", ["ready", "cluster", "cluster/read"])
def test_health_is_503_where_aws_does_not_answer(path: str) -> None:
    assert answered("GET", f"/minio/health/{path}", unavailable)[0] == 503
    assert answered("GET", "/minio/health/live", unavailable)[0] == 200


def test_a_call_is_judged_before_it_is_answered_or_forwarded() -> None:
    def judge(user: User, call: RawRequest) -> None:
        raise S3Error("AccessDenied", f"{user.name} {call.method} {call.bucket}")

    def answers(_: RawRequest) -> Handler:
        raise AssertionError("the call is answered before it is judged")

    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def run() -> None:
        scope = scope_of(signed("PUT", "/images?notification"))
        scope["path"] = scope["raw_path"].decode()
        app = build(S3(authenticator(), judge, answers, at_s3), is_ready=ready)
        await app(scope, Sender(b""), send)

    asyncio.run(run())
    assert sent[0]["status"] == 403
    assert b"anna PUT images" in sent[1]["body"]
