"""The gateway's server, as a client sees it."""

import asyncio
import http.client
import resource
import socket
import threading
from email.utils import parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

from bucketcast.gateway.proxy import Proxy
from bucketcast.gateway.server import OPEN_FILES, Server, allow_open_files, configure
from tests.unit.gateway.application import application, credentials
from tests.unit.web.requests import HOST, signed

S3_DATE = "Wed, 01 Jan 2020 00:00:00 GMT"


class AtS3(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response_only(200)
        self.send_header("Date", S3_DATE)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


def test_each_response_has_one_date_which_is_the_gateways() -> None:
    """SDKs correct their clock by it."""
    s3 = HTTPServer(("127.0.0.1", 0), AtS3)
    proxy = Proxy(f"http://127.0.0.1:{s3.server_port}", "us-east-1", credentials)

    app = application(proxy)
    app.state.listen = SimpleNamespace(close=lambda: asyncio.ensure_future(proxy.close()))
    server = Server(configure(app))
    with s3, socket.create_server(("127.0.0.1", 0)) as listener:
        threads = [
            threading.Thread(target=s3.serve_forever),
            threading.Thread(target=server.run, args=([listener],)),
        ]
        for thread in threads:
            thread.start()
        try:
            port = listener.getsockname()[1]
            dates = [
                dates_of(port, "/images", {}),
                dates_of(port, "/images", {"Host": HOST, **signed("GET", "/images").headers}),
            ]
        finally:
            server.should_exit = True
            s3.shutdown()
            for thread in threads:
                thread.join()
    assert [(status, len(found)) for status, found in dates] == [(403, 1), (200, 1)]
    assert all(parsedate_to_datetime(date).year > 2020 for _, found in dates for date in found)


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
