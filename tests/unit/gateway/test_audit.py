"""The audit log: who did what, and what was refused."""

import json
from datetime import datetime
from typing import Any

import pytest

from bucketcast.gateway.audit import Audit
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest
from bucketcast.web.responses import Send
from tests.unit.gateway.application import application
from tests.unit.web.requests import ACCESS, ANNA, answer, scope_of, signed


async def at_s3(request: AuthenticatedRequest, send: Send) -> None:
    if request.call.key == "another":
        raise S3Error("AccessDenied")
    if request.call.key == "fault":
        raise ZeroDivisionError
    headers = [(b"x-amz-request-id", b"D82B88E5F771F645")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"from S3"})


Lines = list[dict[str, Any]]


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Lines:
    """The audit lines that calls write."""
    written: Lines = []
    monkeypatch.setattr(
        "bucketcast.gateway.audit.record", lambda _, **fields: written.append(fields)
    )
    return written


def request(method: str, target: str, **changed: str) -> None:
    async def preflight(_: RawRequest, send: Send) -> None:
        await send({"type": "http.response.start", "status": 403, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    app = application(at_s3, preflight=preflight)
    app.add_middleware(Audit)
    answer(app, {**scope_of(signed(method, target), **changed), "client": ("192.0.2.7", 5)})


@pytest.mark.parametrize(
    ("method", "target", "call"),
    [
        ("PUT", "/images?notification", "PUT ?notification"),
        ("DELETE", "/images", "DELETE"),
        ("PUT", "/images/a/secret-name.jpg", "PUT"),
    ],
)
def test_a_change_is_logged_with_who_and_what(
    lines: Lines, method: str, target: str, call: str
) -> None:
    request(method, target)
    assert lines == [
        {
            "user": ANNA.name,
            "access_key": ACCESS,
            "source": "192.0.2.7",
            "call": call,
            "bucket": "images",
            "status": 200,
            "request_id": "D82B88E5F771F645",
        }
    ]


@pytest.mark.parametrize(("method", "target"), [("GET", "/images/a"), ("HEAD", "/images")])
def test_a_read_is_not_logged(lines: Lines, method: str, target: str) -> None:
    request(method, target)
    assert lines == []


def test_a_refused_read_is_logged(lines: Lines) -> None:
    request("GET", "/images/another")
    assert [(line["user"], line["status"]) for line in lines] == [(ANNA.name, 403)]


def test_a_refused_signature_is_logged_without_a_user(lines: Lines) -> None:
    header = signed("GET", "/images").headers["Authorization"].replace(ACCESS, "STRANGER")
    request("GET", "/images", authorization=header)
    assert [(line["user"], line["access_key"], line["status"]) for line in lines] == [
        ("", "STRANGER", 403)
    ]


def test_a_refused_preflight_is_logged_with_its_bucket(lines: Lines) -> None:
    request("OPTIONS", "/images/a")
    assert [(line["call"], line["bucket"], line["status"]) for line in lines] == [
        ("OPTIONS", "images", 403)
    ]


def test_what_a_stranger_claims_makes_no_long_line(lines: Lines) -> None:
    header = signed("GET", "/images").headers["Authorization"].replace(ACCESS, "S" * 60_000)
    request("GET", "/images", authorization=header)
    assert [line["access_key"] for line in lines] == ["S" * 128]


def test_a_fault_is_logged_with_the_status_that_the_client_gets(lines: Lines) -> None:
    with pytest.raises(ZeroDivisionError):
        request("PUT", "/images/fault")
    assert [(line["call"], line["status"]) for line in lines] == [("PUT", 500)]


def test_a_line_is_one_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    request("DELETE", "/images")
    line = json.loads(capsys.readouterr().out)
    assert line["message"] == "audit"
    assert line["user"] == ANNA.name
    assert datetime.fromisoformat(line["timestamp"]).tzinfo
