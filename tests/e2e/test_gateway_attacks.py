"""Hostile requests are refused, and the gateway keeps running."""

import socket
from contextlib import ExitStack, closing

import pytest

from tests.e2e.system import System
from tests.e2e.test_gateway import call


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


@pytest.mark.parametrize(
    "target",
    [
        "/uploads/../archive/a",
        "/uploads/%2e%2e/archive/a",
        "//archive/a",
        "/" + "k" * 20_000,
    ],
)
def test_ambiguous_path_is_refused(system: System, target: str) -> None:
    status, _, answer = call(system, "PUT", target, b"x")
    assert status == 400, answer
    assert still_serves(system)


def test_endless_headers_are_cut_off(system: System) -> None:
    received = spoken(system, b"GET / HTTP/1.1\r\nx-long: " + b"a" * 100_000)
    assert received.startswith(b"HTTP/1.1 400")
    assert still_serves(system)


def test_request_that_is_not_http_is_refused(system: System) -> None:
    assert spoken(system, b"\x16\x03\x01 hello\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert still_serves(system)


def test_idle_clients_are_closed_and_harm_no_others(system: System) -> None:
    with ExitStack() as opened:
        slow = [opened.enter_context(closing(dial(system))) for _ in range(200)]
        for each in slow:
            each.sendall(b"PUT /uploads/a HTTP/1.1\r\nx-a: ")
        assert still_serves(system)
        slow[0].settimeout(60)
        assert slow[0].recv(1) == b""
