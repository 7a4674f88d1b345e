"""The gateway's server, as a client sees it."""

import asyncio
import http.client
import resource
import time
from collections.abc import Callable
from contextlib import ExitStack
from email.utils import parsedate_to_datetime
from unittest.mock import Mock, call

import pytest
from uvicorn.server import ServerState

from bucketcast.gateway.protocol import Protocol
from bucketcast.gateway.server import OPEN_FILES, STOP_SECONDS, allow_open_files, configure
from bucketcast.limits import MOST_HEADERS
from bucketcast.users import Account
from tests.unit.gateway.application import application
from tests.unit.gateway.served import connected, sent, served
from tests.unit.web import requests
from tests.unit.web.requests import ACCESS, ANNA, HOST, SECRET, signed


def test_each_response_has_one_date_which_is_the_gateways() -> None:
    """SDKs correct their clock by it."""
    with served() as (port, _):
        dates = [dates_of(port, "/images", headers) for headers in ({}, by_anna())]
    assert [(status, len(found)) for status, found in dates] == [(403, 1), (200, 1)]
    assert all(parsedate_to_datetime(date).year > 2020 for _, found in dates for date in found)


def test_listeners_are_kept_from_its_start_and_end_with_it() -> None:
    listen = Mock()
    with served(listen) as (port, _):
        dates_of(port, "/images", {})
    assert listen.mock_calls == [call.keep(), call.close()]


BODY = b"x" * 2_000_000
REFUSED = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


# A signature is taken for 15 minutes: each test signs its own requests.
def by_anna() -> dict[str, str]:
    return {"Host": HOST, **signed("GET", "/images").headers}


def slow_put() -> bytes:
    return sent(signed("PUT", "/images/a", BODY), **{"Content-Length": f"{len(BODY)}"})


def slow_get() -> bytes:
    return sent(signed("GET", "/images/a-50"))


def asked() -> bytes:
    return sent(signed("GET", "/images"))


IDLE: dict[str, Callable[[], bytes]] = {
    "it sends nothing": lambda: b"",
    "it sends half of its headers": lambda: asked()[:100],
    "it was refused and stays": lambda: REFUSED,
    "another user was served and stays": lambda: asked().replace(ACCESS.encode(), b"BOB"),
    "another user reads slowly": lambda: slow_get().replace(ACCESS.encode(), b"BOB"),
    "it has no signature, and sends its body slowly": lambda: (
        b"PUT /a/b HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\nx"
    ),
    "its signature is wrong, and it sends its body slowly": lambda: (
        slow_put().replace(b"AKIA", b"AKIB") + b"x"
    ),
}


@pytest.mark.parametrize("idle_head", IDLE.values(), ids=IDLE)
def test_a_user_is_served_however_many_others_are_idle(idle_head: Callable[[], bytes]) -> None:
    head = idle_head()
    with served(limit_concurrency=10) as (port, _), ExitStack() as opened:
        working = opened.enter_context(connected(port))
        working.sendall(slow_put())
        kept = opened.enter_context(connected(port))
        kept.sendall(asked())
        assert kept.recv(1_000).startswith(b"HTTP/1.1 200")
        # Before a call is read, its connection is one that says nothing, and the first to go.
        for _ in range(8):
            opened.enter_context(connected(port))
        for number in range(30):
            idle = opened.enter_context(connected(port))
            idle.sendall(head)
            if head.endswith(b"\r\n\r\n"):
                idle.recv(12)
            assert dates_of(port, "/images", by_anna())[0] == 200, number
        kept.sendall(asked())
        assert kept.recv(12) == b"HTTP/1.1 200", "its next call is not lost"
        working.sendall(BODY)
        assert working.recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize("head", [b"", REFUSED], ids=["silent", "refused"])
@pytest.mark.parametrize("before", [[], [asked]], ids=["its first", "its next"])
def test_a_call_is_kept_while_its_user_is_looked_up(
    monkeypatch: pytest.MonkeyPatch, before: list[Callable[[], bytes]], head: bytes
) -> None:
    """The strangers come during the look-up."""
    come: list[Callable[[], None]] = []

    async def find(_: str) -> Account | None:
        while come:
            await asyncio.to_thread(come.pop())
        return Account(ANNA, SECRET)

    monkeypatch.setattr(requests, "find", find)
    with served(limit_concurrency=10) as (port, _), ExitStack() as opened:

        def strangers() -> None:
            for sends in [*[head] * 30, REFUSED]:
                stranger = opened.enter_context(connected(port))
                stranger.sendall(sends)
                if sends:
                    stranger.recv(12)

        call = opened.enter_context(connected(port))
        for first in before:
            call.sendall(first())
            assert call.recv(1_000).startswith(b"HTTP/1.1 200")
        come.append(strangers)
        call.sendall(asked())
        assert call.recv(12) == b"HTTP/1.1 200"
        assert not come


@pytest.mark.anyio
async def test_a_thousand_strangers_at_once_leave_turns_to_others() -> None:
    settings, state = configure(application(None)), ServerState()
    strangers = [Protocol(settings, state, {}) for _ in range(1_000)]
    transport = Mock(spec=asyncio.Transport, **{"is_closing.return_value": False})
    for each in strangers:
        each.connection_made(transport)
        each.data_received(REFUSED)
    turns = 0
    while not strangers[-1].cycle:
        await asyncio.sleep(0)
        turns += 1
    assert turns > 2
    await asyncio.gather(*state.tasks)
    for each in strangers:
        each.connection_lost(None)
    assert transport.write.call_count >= len(strangers)


@pytest.mark.parametrize("head", [slow_put, slow_get, *IDLE.values()])
def test_it_stops_in_time_beside_a_slow_client(head: Callable[[], bytes]) -> None:
    with served(timeout_graceful_shutdown=1) as (port, stop), connected(port) as slow:
        slow.sendall(head())
        time.sleep(0.2)
        assert stop() < 10
    assert 0 < STOP_SECONDS < 10, "Docker kills it after ten"


def dates_of(port: int, path: str, headers: dict[str, str]) -> tuple[int, list[str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        response.read()
        return response.status, response.headers.get_all("date", [])
    finally:
        connection.close()


def test_the_process_may_open_a_file_for_each_connection() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    _, hard = before
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        allow_open_files()
        soft, kept = resource.getrlimit(resource.RLIMIT_NOFILE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert soft == (OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard))
    assert kept == hard


def many_headers() -> bytes:
    return asked()[:-2] + b"a:\r\n" * MOST_HEADERS


@pytest.mark.parametrize(
    ("sends", "answers"),
    [
        (many_headers, [b"400"]),
        (lambda: asked() + many_headers(), [b"200"]),
        (lambda: asked() * 4, [b"200", b"200"]),
        (lambda: asked() + REFUSED * 2, [b"200", b"403"]),
    ],
)
def test_what_is_too_much_is_refused_after_the_answers_before_it(
    sends: Callable[[], bytes], answers: list[bytes]
) -> None:
    with served() as (port, _), connected(port) as stranger:
        stranger.sendall(sends())
        came = b"".join(iter(lambda: stranger.recv(1_000), b""))
        assert [each[:3] for each in came.split(b"HTTP/1.1 ")[1:]] == answers


def test_only_large_answers_of_reads_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bucketcast.limits.MOST_STREAMS", 0)
    with served() as (port, _):
        for method, key, status in (("GET", "a-1", 503), ("GET", "a", 200), ("PUT", "a-1", 200)):
            with connected(port) as client:
                client.sendall(sent(signed(method, f"/images/{key}"), **{"Content-Length": "0"}))
                assert client.recv(12) == b"HTTP/1.1 %d" % status
