"""The configurable answers of the webhook server, and its records of requests."""

import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPResponse, RemoteDisconnected
from typing import cast

import pytest

from tests.servers import Server
from tests.servers.receiver import Answer
from tests.servers.webhook import BASIC, TOKEN, WebhookServer


@pytest.fixture
def webhook(server: Callable[[str], Server]) -> WebhookServer:
    return cast("WebhookServer", server("webhook"))


@pytest.fixture
def connection(webhook: WebhookServer) -> Iterator[HTTPConnection]:
    opened = HTTPConnection(webhook.address, timeout=5)
    yield opened
    opened.close()


def post(
    connection: HTTPConnection, body: bytes = b"{}", path: str = "/open", **headers: str
) -> HTTPResponse:
    connection.request("POST", path, body, headers)
    response = connection.getresponse()
    response.read()
    return response


def test_a_request_is_recorded_unchanged(
    webhook: WebhookServer, connection: HTTPConnection
) -> None:
    body = bytes(range(256))
    start = time.time()
    post(connection, body, "/events?a=%20b", Authorization=BASIC, **{"X-Kind": "é"})
    (request,) = webhook.requests()
    assert (request.method, request.path, request.body) == ("POST", "/events?a=%20b", body)
    assert (request.headers["x-kind"], request.headers["content-length"]) == ("é", "256")
    assert (request.status, request.listener, request.client) == (200, "plain", "")
    assert start <= request.at <= time.time()


def test_a_client_certificate_is_named(webhook: WebhookServer) -> None:
    webhook.write(webhook.mtls_settings(), "", b"{}")
    (request,) = webhook.requests()
    assert (request.listener, request.client) == ("mtls", "carol")


def test_logins_are_checked(webhook: WebhookServer, connection: HTTPConnection) -> None:
    assert post(connection, path="/events").status == 401
    assert post(connection, path="/events", Authorization=f"Bearer {TOKEN}x").status == 403
    assert post(connection, path="/events", Authorization=f"Bearer {TOKEN}").status == 200
    assert post(connection, path="/events", Authorization=BASIC).status == 200
    assert post(connection, path="/open/x").status == 200
    assert [request.status for request in webhook.requests()] == [401, 403, 200, 200, 200]
    assert len(webhook.received()) == 2


def test_a_status_for_the_next_requests(webhook: WebhookServer, connection: HTTPConnection) -> None:
    webhook.answer(
        Answer(status=503, headers={"Retry-After": "7"}, times=2), Answer(status=422, times=1)
    )
    first = post(connection)
    assert (first.status, first.headers["Retry-After"]) == (503, "7")
    assert [post(connection).status for _ in range(3)] == [503, 422, 200]


def test_a_status_for_some_events(webhook: WebhookServer, connection: HTTPConnection) -> None:
    webhook.answer(Answer(status=400, match=r'"Key": ?"uploads/bad'))
    assert post(connection, b'{"Key":"uploads/bad.jpg"}').status == 400
    assert post(connection, b'{"Key":"uploads/good.jpg"}').status == 200
    assert post(connection, b'{"Key": "uploads/bad.jpg"}').status == 400


def test_an_answer_can_be_delayed(webhook: WebhookServer, connection: HTTPConnection) -> None:
    webhook.answer(Answer(delay=0.2, times=1))
    start = time.monotonic()
    post(connection)
    assert time.monotonic() - start >= 0.2
    assert post(connection).status == 200


def test_a_connection_can_be_closed(webhook: WebhookServer, connection: HTTPConnection) -> None:
    webhook.answer(Answer(close=True, times=1))
    with pytest.raises((RemoteDisconnected, ConnectionResetError)):
        post(connection)
    assert post(connection).status == 200
    assert [request.status for request in webhook.requests()] == [0, 200]


def test_a_kept_connection_is_recorded(webhook: WebhookServer, connection: HTTPConnection) -> None:
    post(connection)
    post(connection)
    connection.close()
    post(connection)
    first, second, third = (request.connection for request in webhook.requests())
    assert first == second != third


def test_a_client_may_close_the_connection(
    webhook: WebhookServer, connection: HTTPConnection
) -> None:
    response = post(connection, Connection="close")
    assert response.headers["Connection"] == "close"
    assert webhook.requests()[0].status == 200


def test_a_large_body_may_expect_100_continue(
    webhook: WebhookServer, connection: HTTPConnection
) -> None:
    body = b"x" * 2_000_000
    connection.request("POST", "/open", body, {"Expect": "100-continue"})
    # http.client skips the 100 and reads the answer that follows.
    assert connection.getresponse().status == 200
    assert webhook.requests()[0].body == body


def test_an_invalid_request_is_answered(webhook: WebhookServer, connection: HTTPConnection) -> None:
    connection.connect()
    connection.sock.sendall(b"nonsense\r\n\r\n")
    assert connection.sock.recv(100).startswith(b"HTTP/1.1 400 ")
    assert webhook.requests() == []
