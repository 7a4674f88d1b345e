"""The audit log: who did what, and what was refused."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import botocore.session
import pytest

from bucketcast.gateway.audit import Audit
from bucketcast.gateway.call_names import CallNames
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest
from bucketcast.web.responses import Send
from tests.unit.gateway.application import application
from tests.unit.web.requests import ACCESS, ANNA, answer, scope_of, signed

MODEL: Final = botocore.session.get_session().get_service_model("s3")
NAMES: Final = CallNames(MODEL)
NOT_SENT: Final = ("ListDirectoryBuckets", "WriteGetObjectResponse")
"""To other hosts than a bucket's."""


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


def request(
    method: str, target: str, headers: Mapping[str, str] | None = None, **changed: str
) -> None:
    async def preflight(_: RawRequest, send: Send) -> None:
        await send({"type": "http.response.start", "status": 403, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    app = application(at_s3, preflight=preflight)
    app.add_middleware(Audit, names=NAMES)
    sent = signed(method, target, headers=headers)
    answer(app, {**scope_of(sent, **changed), "client": ("192.0.2.7", 5)})


@pytest.mark.parametrize(
    ("method", "target", "call"),
    [
        ("PUT", "/images?notification", "PutBucketNotificationConfiguration"),
        ("PUT", "/images?metrics&id=1", "PutBucketMetricsConfiguration"),
        ("DELETE", "/images", "DeleteBucket"),
        ("PUT", "/images/a/secret-name.jpg", "PutObject"),
        ("POST", "/images?unheard=secret", "POST ?unheard"),
        ("DELETE", "/images?Notification", "DeleteBucket"),  # as S3 takes it
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
            "resource": "",
            "changed": [],
            "status": 200,
            "request_id": "D82B88E5F771F645",
        }
    ]


def test_headers_and_the_source_of_a_copy_are_logged_without_values(lines: Lines) -> None:
    lock = "X-Amz-Object-Lock-Mode=secret"
    headers = {"x-amz-acl": "public-read", "x-amz-grant-read": "id=secret"}
    request("PUT", f"/images/a?{lock}", {**headers, "x-amz-copy-source": "%2Fother%2Fsecret.jpg"})
    assert [(line["call"], line["resource"]) for line in lines] == [("CopyObject", "other")]
    assert lines[0]["changed"] == [
        "x-amz-acl=public-read",
        "x-amz-grant-read",
        "x-amz-object-lock-mode",
    ]
    assert "secret" not in str(lines)


@pytest.mark.parametrize("name", MODEL.operation_names)
def test_each_call_of_s3_has_its_name(name: str) -> None:
    operation = MODEL.operation_model(name)
    if operation.deprecated or name in NOT_SENT:
        return
    target = operation.http["requestUri"].replace("{Bucket}", "bucket").replace("{Key+}", "k")
    path, _, query = target.partition("?")
    query += {"UploadPart": "&uploadId=1", "ListParts": "&uploadId=1"}.get(name, "")
    query += "&uploadId=1" if name in ("AbortMultipartUpload", "UploadPartCopy") else ""
    headers = {"x-amz-copy-source": "b/k"} if "Copy" in name else {}
    call = RawRequest.of(operation.http["method"], path, query, headers.items())
    found = NAMES.name(call)
    # A read of one and the list of all differ by an id.
    assert found.replace("List", "Get").rstrip("s") == name.replace("List", "Get").rstrip("s")


@pytest.mark.parametrize(("method", "target"), [("GET", "/images/a"), ("HEAD", "/images")])
def test_a_read_is_not_logged(lines: Lines, method: str, target: str) -> None:
    request(method, target)
    assert lines == []


@pytest.mark.parametrize(
    ("method", "target", "key", "logged"),
    [
        ("GET", "/images/another", ACCESS, {"user": ANNA.name}),
        ("GET", "/images", "STRANGER", {"user": "", "access_key": "STRANGER"}),
        ("OPTIONS", "/images/a", ACCESS, {"call": "OPTIONS", "bucket": "images"}),
        ("GET", "/images", "S" * 60_000, {"access_key": "S" * 128}),  # no long line
    ],
    ids=["right", "signature", "preflight", "a long claim is cut"],
)
def test_what_is_refused_is_logged(
    lines: Lines, method: str, target: str, key: str, logged: dict[str, Any]
) -> None:
    changed = {}
    if key != ACCESS:  # signed twice, a call might be of two seconds
        header = signed(method, target).headers["Authorization"]
        changed["authorization"] = header.replace(ACCESS, key)
    request(method, target, None, **changed)
    (line,) = lines
    assert line.items() >= {**logged, "status": 403}.items()


def test_a_fault_is_logged_with_the_status_that_the_client_gets(lines: Lines) -> None:
    with pytest.raises(ZeroDivisionError):
        request("PUT", "/images/fault")
    assert [(line["call"], line["status"]) for line in lines] == [("PutObject", 500)]


def test_a_line_is_one_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    request("DELETE", "/images")
    line = json.loads(capsys.readouterr().out)
    assert line["message"] == "audit"
    assert line["user"] == ANNA.name
    assert datetime.fromisoformat(line["timestamp"]).tzinfo
