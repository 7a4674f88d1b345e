"""Hostile requests are refused, and the gateway keeps running."""

import http.client
import socket
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.e2e.system import System
from tests.e2e.test_gateway import call, connection, signed_request

BOMB = (
    b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>'
    b"<NotificationConfiguration>&c;</NotificationConfiguration>"
)


def spoken(system: System, text: bytes) -> bytes:
    """What is answered to these bytes, until the connection is closed."""
    with closing(dial(system)) as opened:
        opened.sendall(text)
        opened.settimeout(30)
        received = b""
        while part := opened.recv(65_536):
            received += part
        return received


def dial(system: System) -> socket.socket:
    return socket.create_connection(("127.0.0.1", system.local.gateway_port), timeout=30)


def still_serves(system: System) -> bool:
    return call(system, "GET", "/")[0] == 200


def test_an_entity_bomb_and_ten_megabytes_are_refused(system: System) -> None:
    for body, code in ((BOMB, b"MalformedXML"), (b" " * 10_000_000, b"EntityTooLarge")):
        status, _, answer = call(system, "PUT", "/uploads?notification", body)
        assert (status, code in answer) == (400, True)
    assert still_serves(system)


@pytest.mark.parametrize(
    "target",
    [
        "/uploads/../archive/a",
        "/uploads/%2e%2e/archive/a",
        "/uploads%2f..%2farchive",
        "//archive/a",
        "/uploads/%00",
        "/uploads/%zz",
        "/" + "k" * 20_000,
    ],
)
def test_a_path_that_could_be_read_otherwise_is_refused(system: System, target: str) -> None:
    status, _, answer = call(system, "PUT", target, b"x")
    assert status == 400, answer
    assert still_serves(system)


def test_headers_without_end_are_cut_off(system: System) -> None:
    received = spoken(system, b"GET / HTTP/1.1\r\nx-long: " + b"a" * 100_000)
    assert received.startswith(b"HTTP/1.1 400")
    assert still_serves(system)


def test_what_is_no_http_is_refused(system: System) -> None:
    assert spoken(system, b"\x16\x03\x01 hello\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert still_serves(system)


def test_silent_clients_are_closed_and_harm_no_others(system: System) -> None:
    with ExitStack() as opened:
        slow = [opened.enter_context(closing(dial(system))) for _ in range(200)]
        for each in slow:
            each.sendall(b"PUT /uploads/a HTTP/1.1\r\nx-a: ")
        assert still_serves(system)
        slow[0].settimeout(60)
        assert slow[0].recv(1) == b""


def test_unsigned_calls_are_refused(system: System) -> None:
    for head in (
        b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
        b"GET /uploads?notification HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
        b"PUT /uploads/a HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    ):
        received = spoken(system, head)
        assert received.startswith(b"HTTP/1.1 403")
        assert b"<Code>AccessDenied</Code>" in received


def sent(
    system: System, request: AWSRequest, target: str, body: bytes, **changed: str
) -> tuple[int, bytes]:
    """What is answered to a signed request that goes elsewhere, or with other headers or body."""
    with closing(connection(system)) as opened:
        opened.putrequest("PUT", target, skip_host=True, skip_accept_encoding=True)
        for name, value in {**request.headers, **changed}.items():
            opened.putheader(name, value)
        opened.endheaders(body)
        answer: http.client.HTTPResponse = opened.getresponse()
        return answer.status, answer.read()


def test_a_signature_that_was_forged_or_is_used_again_elsewhere_is_refused(
    system: System, prefix: str
) -> None:
    target, other = f"/uploads/{prefix}a", f"/uploads/{prefix}b"
    request = signed_request(system, "PUT", target, b"mine!")
    header = request.headers["Authorization"]
    last = "0" if header[-1] != "0" else "1"
    yesterday = f"{datetime.now(UTC) - timedelta(days=1):%Y%m%dT%H%M%SZ}"
    of_yesterday = header.replace(request.headers["X-Amz-Date"][:8], yesterday[:8])
    refusals = {
        "SignatureDoesNotMatch": [
            sent(system, request, target, b"mine!", Authorization=header[:-1] + last),
            sent(system, request, other, b"mine!"),
            sent(system, request, target + "?acl", b"mine!"),
        ],
        "XAmzContentSHA256Mismatch": [sent(system, request, target, b"other")],
        "RequestTimeTooSkewed": [
            sent(
                system,
                request,
                target,
                b"mine!",
                Authorization=of_yesterday,
                **{"X-Amz-Date": yesterday},
            )
        ],
        "AuthorizationHeaderMalformed": [
            sent(
                system,
                request,
                target,
                b"mine!",
                Authorization=header.replace(f"/{system.environment['AWS_REGION']}/", "/mars-1/"),
            )
        ],
    }
    for code, answers in refusals.items():
        for status, answer in answers:
            assert 400 <= status < 404
            assert f"<Code>{code}</Code>".encode() in answer
    assert system.s3.list_objects_v2(Bucket="uploads", Prefix=prefix)["KeyCount"] == 0
    assert still_serves(system)


def test_a_presigned_url_whose_time_is_over_is_refused(system: System, prefix: str) -> None:
    where = system.environment
    keys = Credentials(where["BUCKETCAST_ACCESS_KEY"], where["BUCKETCAST_SECRET_KEY"])
    request = AWSRequest("PUT", f"{where['BUCKETCAST_URL']}/uploads/{prefix}a")
    S3SigV4QueryAuth(keys, "s3", where["AWS_REGION"], expires=60).add_auth(request)
    parts = urlsplit(str(request.url))
    stamp = request.context["timestamp"]
    early = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC) - timedelta(minutes=2)
    query = parts.query.replace(stamp, f"{early:%Y%m%dT%H%M%SZ}")
    query = query.replace(stamp[:8], f"{early:%Y%m%d}")
    elapsed = f"{parts.path}?{query}"
    status, answer = sent(system, AWSRequest(headers={"Host": parts.netloc}), elapsed, b"")
    assert (status, b"Request has expired" in answer) == (403, True)
    assert still_serves(system)
