"""Print each event that reaches a webhook: time, name, bucket/key, size in bytes.

    python examples/consumers/webhook.py --port 3000

and in bucketcast.toml:

    [notify_webhook.primary]
    endpoint = "http://127.0.0.1:3000/events"

With the target's `auth_token` in the environment as AUTH_TOKEN, requests without it are refused.
"""

import argparse
import contextlib
import hmac
import json
import os
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote_plus


class Consumer(BaseHTTPRequestHandler):
    """Answers 204 once an event is printed: after any 2xx Bucketcast does not send it again."""

    protocol_version = "HTTP/1.1"  # keeps the connection, which spares a handshake an event

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self._known():
            self._answer(HTTPStatus.UNAUTHORIZED)
            return
        try:
            lines = [line(record) for record in json.loads(body)["Records"]]
        except (ValueError, KeyError, TypeError) as error:
            print(f"not an event: {error!r}", file=sys.stderr, flush=True)
            self._answer(HTTPStatus.BAD_REQUEST)
            return
        print("\n".join(lines), flush=True)
        self._answer(HTTPStatus.NO_CONTENT)

    def _known(self) -> bool:
        token = os.environ.get("AUTH_TOKEN", "")
        # A token of two words is sent as it is ("Basic abc"), a single word as "Bearer <word>".
        expected = token if " " in token else f"Bearer {token}"
        shown = self.headers.get("Authorization", "")
        return not token or hmac.compare_digest(shown.encode(), expected.encode())

    def _answer(self, status: HTTPStatus) -> None:
        self.send_response(status)
        if status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 as http.server names it
        """Say nothing a request; the events are the output."""


class Server(ThreadingHTTPServer):
    """A thread a connection, which Bucketcast opens many of at once."""

    request_queue_size = 128


def line(record: dict[str, Any]) -> str:
    """One event for people. A key in a record is URL-encoded; a delete has no size."""
    place = record["s3"]
    key = unquote_plus(place["object"]["key"])
    size = place["object"].get("size", "-")
    name, time = record["eventName"], record["eventTime"]
    return f"{time:<24}  {name:<40}  {place['bucket']['name']}/{key}  {size}"


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="Print each event that reaches a webhook.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (%(default)s)")
    parser.add_argument("--port", type=int, default=3000, help="port to listen at (%(default)s)")
    options = parser.parse_args()
    try:
        server = Server((options.host, options.port), Consumer)
    except OSError as error:
        sys.exit(f"cannot listen at {options.host}:{options.port}: {error.strerror}; try --port")
    with server:
        print(f"waiting for events at http://{options.host}:{server.server_port}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
