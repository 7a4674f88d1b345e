"""The gateway's server before an S3 that takes anything, in this process."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlsplit

from botocore.awsrequest import AWSRequest

from bucketcast.gateway.proxy import Proxy
from bucketcast.gateway.server import Server, configure
from tests.unit.gateway.application import application, credentials
from tests.unit.web.requests import HOST

MEGABYTE = b"x" * 1_000_000
S3_DATE = "Wed, 01 Jan 2020 00:00:00 GMT"


class AtS3(BaseHTTPRequestHandler):
    """Takes what it is sent, and returns as many MB as the path says."""

    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.do_GET()

    def do_GET(self) -> None:
        megabytes = int(f"0{self.path.partition('-')[2]}")
        self.send_response_only(200)
        self.send_header("Date", S3_DATE)
        self.send_header("Content-Length", f"{megabytes}000000")
        self.end_headers()
        with suppress(OSError):
            for _ in range(megabytes):
                self.wfile.write(MEGABYTE)

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
def served(listen: Any = None, **settings: Any) -> Iterator[tuple[int, Callable[[], float]]]:
    """Yield the gateway's port, and a function that stops it and returns the seconds of that."""
    s3 = ThreadingHTTPServer(("127.0.0.1", 0), AtS3)
    s3.daemon_threads = True
    proxy = Proxy(f"http://127.0.0.1:{s3.server_port}", "us-east-1", credentials)
    app = application(proxy)
    app.state.listen = listen or Mock()
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


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def sent(request: AWSRequest, host: str = HOST, **headers: str) -> bytes:
    """Return the head of a request as it is sent."""
    every = {"Host": host, **headers, **request.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in every.items())
    return f"{request.method} {urlsplit(str(request.url)).path} HTTP/1.1\r\n{lines}\r\n".encode()
