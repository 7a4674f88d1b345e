"""Lambda's DynamicSetup API, for one function: it asks for the next event and posts its answer.

https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread
from typing import Any, NamedTuple
from uuid import uuid4


class Answer(NamedTuple):
    """What the function posted: its document, and whether that is an error."""

    document: Any
    failed: bool


class RuntimeApi:
    """The API on a port of its own, from `start` to `close`."""

    def __init__(self, function: str, timeout: float) -> None:
        self.ready: Queue[None] = Queue()
        """One item each time the function asks for an event."""
        self.answers: Queue[Answer] = Queue()
        self._events: Queue[Any] = Queue()
        self._arn = f"arn:aws:lambda:us-east-1:000000000000:function:{function}"
        self._timeout = timeout
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                api.ready.put(None)
                event = api._events.get()
                self.send_response(200)
                for name, value in api.headers().items():
                    self.send_header(name, value)
                self._finish(json.dumps(event).encode())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                failed = self.path.endswith("/error")
                api.answers.put(Answer(json.loads(body or b"null"), failed))
                self.send_response(202)
                self._finish(b"{}")

            def _finish(self, body: bytes) -> None:
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """Return `host:port`, as the variable AWS_LAMBDA_RUNTIME_API has it."""
        return f"127.0.0.1:{self._server.server_port}"

    def headers(self) -> dict[str, str]:
        deadline = round((time.time() + self._timeout) * 1_000)
        return {
            "Lambda-Runtime-Aws-Request-Id": str(uuid4()),
            "Lambda-Runtime-Deadline-Ms": str(deadline),
            "Lambda-Runtime-Invoked-Function-Arn": self._arn,
        }

    def give(self, event: Any) -> None:
        """Let the function have an event."""
        self._events.put(event)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
