"""Print each event that reaches a webhook: time, name, bucket/key, size in bytes.

    python examples/consumers/webhook.py --port 3000

If AUTH_TOKEN has the target's `auth_token`, requests without it are refused. If SIGNING_SECRET has
its `signing_secret` (one whsec_ key, or the public key of a whsk_ key as whpk_ and Base64, which
needs `pip install pynacl`), requests with a wrong signature are refused.
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
    """Answer 204 when an event is printed; after any 2xx Bucketcast does not send it again."""

    protocol_version = "HTTP/1.1"  # keeps the connection, which saves a handshake per event

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not (self._is_authorized() and signed(self.headers, body)):
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

    def _is_authorized(self) -> bool:
        token = os.environ.get("AUTH_TOKEN", "")
        # A token of two words is sent as it is ("Basic abc"), a single word as "Bearer <word>".
        expected = token if " " in token else f"Bearer {token}"
        header = self.headers.get("Authorization", "")
        return not token or hmac.compare_digest(header.encode(), expected.encode())

    def _answer(self, status: HTTPStatus) -> None:
        self.send_response(status)
        if status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 as http.server names it
        """Log no requests: the output is the events."""


class Server(ThreadingHTTPServer):
    """A thread per connection, of which Bucketcast opens many at once."""

    request_queue_size = 128


def signed(headers: Message, body: bytes) -> bool:
    """Return whether the body has a recent Standard Webhooks signature; True without a key.

    The signature is of the exact bytes of the body: do not parse and serialise them first.
    """
    prefix, _, key = os.environ.get("SIGNING_SECRET", "").partition("_")
    if not prefix:
        return True
    sent, id_ = headers.get("webhook-timestamp", ""), headers.get("webhook-id", "")
    if not sent.isdecimal() or abs(time.time() - int(sent)) > TOLERANCE_SECONDS:
        return False  # it may be a replay
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
    """Return whether a `v1` signature is right."""
    return hmac.compare_digest(hmac.digest(key, about.encode() + body, "sha256"), given)


def verify_ed25519(key: bytes, about: str, body: bytes, given: bytes) -> bool:
    """Return whether a `v1a` signature is right."""
    from nacl.exceptions import BadSignatureError  # noqa: PLC0415 - only with such a key
    from nacl.signing import VerifyKey  # noqa: PLC0415

    try:
        VerifyKey(key).verify(about.encode() + body, given)
    except BadSignatureError:
        return False
    return True


def line(record: dict[str, Any]) -> str:
    """Format one event. A key in a record is URL-encoded; a delete has no size."""
    s3 = record["s3"]
    key = unquote_plus(s3["object"]["key"])
    size = s3["object"].get("size", "-")
    name, time = record["eventName"], record["eventTime"]
    return f"{time:<24}  {name:<40}  {s3['bucket']['name']}/{key}  {size}"


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
