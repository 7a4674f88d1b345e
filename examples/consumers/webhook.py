"""Print each event that reaches a webhook: time, name, bucket/key, size in bytes.

    python examples/consumers/webhook.py --port 3000

and in bucketcast.toml:

    [notify_webhook.primary]
    endpoint = "http://127.0.0.1:3000/events"

With the target's `auth_token` in the environment as AUTH_TOKEN, requests without it are refused.
With its `signing_secret` as SIGNING_SECRET (one whsec_ key, or the public key of a whsk_ key as
whpk_ and Base64, which needs `pip install pynacl`), so are requests with a wrong signature.
"""

import argparse
import base64
import contextlib
import hmac
import json
import os
import sys
import time
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote_plus

TOLERANCE_SECONDS = 300


class Consumer(BaseHTTPRequestHandler):
    """Answers 204 once an event is printed: after any 2xx Bucketcast does not send it again."""

    protocol_version = "HTTP/1.1"  # keeps the connection, which spares a handshake an event

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not (self._known() and signed(self.headers, body)):
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


def signed(headers: Message, body: bytes) -> bool:
    """Whether the body has a recent signature of Standard Webhooks; True without a key.

    The bytes as they came are signed: do not parse them and write them anew first.
    """
    prefix, _, key = os.environ.get("SIGNING_SECRET", "").partition("_")
    if not prefix:
        return True
    sent, id_ = headers.get("webhook-timestamp", ""), headers.get("webhook-id", "")
    if not sent.isdecimal() or abs(time.time() - int(sent)) > TOLERANCE_SECONDS:
        return False  # somebody may have recorded it
    verify = verify_ed25519 if prefix == "whpk" else verify_hmac
    version = "v1a" if prefix == "whpk" else "v1"
    for signature in headers.get("webhook-signature", "").split():
        name, _, text = signature.partition(",")
        with contextlib.suppress(ValueError):
            given = base64.b64decode(text)
            if name == version and verify(base64.b64decode(key), f"{id_}.{sent}.", body, given):
                return True
    return False


def verify_hmac(key: bytes, about: str, body: bytes, given: bytes) -> bool:
    """Whether a `v1` signature is right."""
    return hmac.compare_digest(hmac.digest(key, about.encode() + body, "sha256"), given)


def verify_ed25519(key: bytes, about: str, body: bytes, given: bytes) -> bool:
    """Whether a `v1a` signature is right."""
    from nacl.exceptions import BadSignatureError  # noqa: PLC0415 - only with such a key
    from nacl.signing import VerifyKey  # noqa: PLC0415

    try:
        VerifyKey(key).verify(about.encode() + body, given)
    except BadSignatureError:
        return False
    return True


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
