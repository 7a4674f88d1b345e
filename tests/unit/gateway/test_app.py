"""The application: who answers what, and how errors come out."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from bucketcast.errors import BucketcastError
from bucketcast.users import User
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest
from bucketcast.web.request_body import RequestStream
from bucketcast.web.responses import Handler, Send, send_response
from tests.unit.gateway.application import application
from tests.unit.web.requests import Response, Wire, answer, ready, scope_of, signed


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
) -> Response:
    app = application(at_s3, is_ready=is_ready)
    return answer(app, scope_of(signed(method, target), **changed))


def test_other_calls_are_forwarded_to_s3() -> None:
    assert answered("GET", "/images/a").body == b"from S3"


@pytest.mark.parametrize(
    ("key", "status", "code"),
    [("broken", 500, b"InternalError"), ("no-aws", 503, b"ServiceUnavailable")],
)
def test_internal_error_reveals_nothing(key: str, status: int, code: bytes) -> None:
    response = Response()
    scope = {**scope_of(signed("GET", f"/images/{key}")), "path": f"/images/{key}"}
    with suppress(ZeroDivisionError):  # goes on to the server, once the client is answered
        asyncio.run(application(at_s3)(scope, Wire(b""), response))
    assert response.status == status
    assert b"<Code>" + code + b"</Code>" in response.body
    assert response.headers["x-amz-request-id"].encode() in response.body
    assert b"somebody" not in response.body
    assert b"Zero" not in response.body


def test_refused_head_has_no_body_and_names_the_error_in_a_header() -> None:
    response = answered("HEAD", "/images/a", x_amz_meta_more="unsigned")
    assert (response.status, response.body) == (403, b"")
    assert response.headers["x-minio-error-code"] == "AccessDenied"
    assert "not signed" in response.headers["x-minio-error-desc"]
    assert "x-minio-error-code" not in answered("GET", "/images/a", authorization="none").headers


def test_head_with_a_wrong_secret_key_is_no_valid_login_to_mc() -> None:
    """`mc alias set` sends it, and accepts AccessDenied and NoSuchBucket."""
    wrong = signed("HEAD", "/probe", secret="wrong").headers["authorization"]
    response = answered("HEAD", "/probe", authorization=wrong)
    assert response.headers["x-minio-error-code"] == "SignatureDoesNotMatch"


def test_refused_call_that_expects_100_closes_the_connection() -> None:
    response = answered("PUT", "/images/a", expect="100-continue", x_amz_meta_more="x")
    assert response.headers["connection"] == "close"


def drained(body: bytes, **headers: str) -> int:
    sender = Wire(body, 1_000)
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
    assert answered("GET", f"/minio/health/{path}").status == 200


@pytest.mark.parametrize("path", ["ready", "cluster", "cluster/read"])
def test_health_is_503_where_aws_does_not_answer(path: str) -> None:
    assert answered("GET", f"/minio/health/{path}", unavailable).status == 503
    assert answered("GET", "/minio/health/live", unavailable).status == 200


def test_a_call_is_judged_before_it_is_answered_or_forwarded() -> None:
    def judge(user: User, call: RawRequest) -> None:
        raise S3Error("AccessDenied", f"{user.name} {call.method} {call.bucket}")

    def answers(_: RawRequest) -> Handler:
        raise AssertionError("the call is answered before it is judged")

    app = application(at_s3, judge=judge, answers=answers)
    response = answer(app, scope_of(signed("PUT", "/images?notification")))
    assert response.status == 403
    assert b"anna PUT images" in response.body
