"""The gateway's server, as a client sees it."""

import asyncio
import http.client
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from email.utils import parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.awsrequest import AWSRequest

from bucketcast.gateway.proxy import Proxy
from bucketcast.gateway.server import OPEN_FILES, STOP_SECONDS, Server, allow_open_files, configure
from tests.unit.gateway.application import application, credentials
from tests.unit.web.requests import HOST, signed

S3_DATE = "Wed, 01 Jan 2020 00:00:00 GMT"


class AtS3(BaseHTTPRequestHandler):
    """Takes what it is sent, and returns as many MB as the path says."""

    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.do_GET()

    def do_GET(self) -> None:
        body = b"x" * 1_000_000 * int(f"0{self.path.partition('-')[2]}")
        self.send_response_only(200)
        self.send_header("Date", S3_DATE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


class Stopping(Server):
    """Also closes its connections to S3, for which a process that ends does not care."""

    proxy: Proxy

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        await asyncio.sleep(0.1)
        await self.proxy.close()
        for one in list(self.server_state.connections):
            one.transport.abort()
        await asyncio.sleep(0.1)


@contextmanager
def served(**settings: Any) -> Iterator[tuple[int, Callable[[], float]]]:
    """Yield the gateway's port, and a function that stops it and returns the seconds of that."""
    s3 = ThreadingHTTPServer(("127.0.0.1", 0), AtS3)
    s3.daemon_threads = True
    proxy = Proxy(f"http://127.0.0.1:{s3.server_port}", "us-east-1", credentials)
    app = application(proxy)
    app.state.listen = SimpleNamespace(close=lambda: None)
    configuration = configure(app)
    for name, value in settings.items():
        setattr(configuration, name, value)
    server = Stopping(configuration)
    server.proxy = proxy
    with s3, socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        threading.Thread(target=s3.serve_forever, daemon=True).start()
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()

        def stop() -> float:
            began = time.monotonic()
            server.should_exit = True
            thread.join(60)
            assert not thread.is_alive()
            return time.monotonic() - began

        try:
            yield listener.getsockname()[1], stop
        finally:
            stop()
            s3.shutdown()


def test_each_response_has_one_date_which_is_the_gateways() -> None:
    """SDKs correct their clock by it."""
    with served() as (port, _):
        dates = [
            dates_of(port, "/images", {}),
            dates_of(port, "/images", {"Host": HOST, **signed("GET", "/images").headers}),
        ]
    assert [(status, len(found)) for status, found in dates] == [(403, 1), (200, 1)]
    assert all(parsedate_to_datetime(date).year > 2020 for _, found in dates for date in found)


def sent(request: AWSRequest, host: str = HOST, **headers: str) -> bytes:
    """Return the head of a request as it is sent."""
    every = {"Host": host, **headers, **request.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in every.items())
    return f"{request.method} {urlsplit(str(request.url)).path} HTTP/1.1\r\n{lines}\r\n".encode()


BODY = b"x" * 2_000_000
SLOW_PUT = sent(signed("PUT", "/images/a", BODY), **{"Content-Length": f"{len(BODY)}"})
SLOW_GET = sent(signed("GET", "/images/a-50"))
ASKED = sent(signed("GET", "/images"))
IDLE = {
    "it sends nothing": b"",
    "it sends half of its headers": ASKED[:100],
    "it was refused and stays": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "it was served and stays": ASKED,
    "it has no signature, and sends its body slowly": b"PUT /a/b HTTP/1.1\r\nHost: x\r\n"
    b"Content-Length: 900000\r\n\r\nx",
    "its signature is wrong, and it sends its body slowly": SLOW_PUT.replace(b"AKIA", b"AKIB")
    + b"x",
}


@pytest.mark.parametrize("head", IDLE.values(), ids=IDLE)
def test_a_user_is_served_however_many_others_are_idle(head: bytes) -> None:
    with served(limit_concurrency=10) as (port, _), ExitStack() as opened:
        every = [opened.enter_context(connected(port)) for _ in range(9)]
        working = every[0]
        working.sendall(SLOW_PUT)
        for number in range(30):
            idle = opened.enter_context(connected(port))
            idle.sendall(head)
            if head.endswith(b"\r\n\r\n"):
                idle.recv(12)
            assert (
                dates_of(port, "/images", {"Host": HOST, **signed("GET", "/images").headers})[0]
                == 200
            ), number
        working.sendall(BODY)
        assert working.recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize("head", [SLOW_PUT, SLOW_GET, *IDLE.values()])
def test_it_stops_in_time_beside_a_slow_client(head: bytes) -> None:
    with served(timeout_graceful_shutdown=1) as (port, stop), connected(port) as slow:
        slow.sendall(head)
        time.sleep(0.2)
        assert stop() < 10
    assert 0 < STOP_SECONDS < 10, "Docker kills it after ten"


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=30)


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
