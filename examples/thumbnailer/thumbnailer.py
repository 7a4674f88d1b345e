"""A webhook that answers each JPEG with a thumbnail: same key, in another bucket.

    python examples/thumbnailer/thumbnailer.py --port 3080 --into images-thumbnail

The status decides about the event: after 204 it is done, after 422 it is moved to the target's
dead-letter queue with the reason, after 503 it is retried. A repeated event makes the same
thumbnail again, so no state is needed. S3 is found by the ordinary AWS environment.
"""

import argparse
import contextlib
import io
import json
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote_plus

import boto3
from botocore.exceptions import BotoCoreError, ClientError
from PIL import Image, ImageOps

LARGEST = (128, 128)
"""Pixels, of the thumbnail's sides."""


class Thumbnailer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps the connection, which saves a handshake per event
    server: "Server"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            for record in json.loads(body)["Records"]:
                s3 = record["s3"]
                key = unquote_plus(s3["object"]["key"])
                self.server.shrink(s3["bucket"]["name"], key)
        except (ValueError, KeyError, TypeError, Image.DecompressionBombError) as error:
            self._respond(HTTPStatus.UNPROCESSABLE_ENTITY, f"{type(error).__name__}: {error}")
        except (BotoCoreError, ClientError) as error:
            self._respond(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        else:
            self._respond(HTTPStatus.NO_CONTENT)

    def _respond(self, status: HTTPStatus, reason: str = "") -> None:
        self.send_response(status)
        if status != HTTPStatus.NO_CONTENT:
            print(f"  {status.value}: {reason}", file=sys.stderr, flush=True)
            self.send_header("Content-Length", str(len(reason.encode())))
        self.end_headers()
        self.wfile.write(reason.encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 as http.server names it
        """Log no requests; the thumbnails are the output."""


class Server(ThreadingHTTPServer):
    request_queue_size = 128  # Bucketcast opens many connections at once

    def __init__(self, address: tuple[str, int], into: str) -> None:
        super().__init__(address, Thumbnailer)
        self.into = into
        self.s3 = boto3.client("s3")

    def shrink(self, bucket: str, key: str) -> None:
        """Put the thumbnail of an object, unless it was deleted meanwhile.

        Raises:
            ValueError: it is not a picture.
        """
        try:
            picture = self.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        except self.s3.exceptions.NoSuchKey:
            return
        small, size = thumbnail(picture)
        self.s3.put_object(Bucket=self.into, Key=key, Body=small, ContentType="image/jpeg")
        width, height = size
        print(f"  thumbnailer: {self.into}/{key}, {width} x {height} pixels", flush=True)


def thumbnail(picture: bytes) -> tuple[bytes, tuple[int, int]]:
    """Return an upright JPEG with sides of at most `LARGEST` pixels, and its size.

    Raises:
        ValueError: it is not a picture, or a broken one.
    """
    try:
        with Image.open(io.BytesIO(picture)) as opened:
            upright = ImageOps.exif_transpose(opened)
            upright.thumbnail(LARGEST)
            output = io.BytesIO()
            upright.convert("RGB").save(output, "JPEG")
    except OSError as error:  # Pillow's
        raise ValueError(str(error)) from None
    return output.getvalue(), upright.size


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="Answer each JPEG with a thumbnail.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (%(default)s)")
    parser.add_argument("--port", type=int, default=3080, help="port to listen on (%(default)s)")
    parser.add_argument("--into", default="images-thumbnail", help="its bucket (%(default)s)")
    options = parser.parse_args()
    try:
        server = Server((options.host, options.port), options.into)
    except OSError as error:
        sys.exit(f"cannot listen at {options.host}:{options.port}: {error.strerror}")
    with server, contextlib.suppress(KeyboardInterrupt):
        print(f"thumbnailer: waiting for events at port {server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
