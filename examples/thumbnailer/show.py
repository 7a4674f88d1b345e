"""Put a JPEG into the bucket images, and wait for its thumbnail in images-thumbnail.

`run` starts this once the stack is up. The service runs for as long as this does.
"""

import io
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.exceptions import ClientError
from PIL import Image

from bucketcast import cli
from bucketcast.config import load

FOLDER = Path(__file__).resolve().parent
PHOTO = FOLDER.parent / "photo.jpg"
CONFIG = FOLDER / "bucketcast.toml"
THUMBNAILS = "images-thumbnail"
ARRIVE_SECONDS = 60.0


def main() -> None:
    """End with 0 once the thumbnail is there, else with the reason."""
    targets = load(CONFIG, os.environ, local=True).targets
    target = next(each for each in targets if (each.kind, each.id) == ("webhook", "1"))
    endpoint = target.settings["endpoint"]
    with service(urlsplit(endpoint).port or 80):
        print(f"webhook: {FOLDER.name}/thumbnailer.py, at {endpoint}")
        rule = ("--event", "put", "--suffix", ".jpg", "--ignore-existing")
        bucketcast("event", "add", "images", str(target.arn), *rule)
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket=THUMBNAILS)
        key = time.strftime("photo-%H%M%S.jpg")
        picture = PHOTO.read_bytes()
        began = time.monotonic()
        s3.put_object(Bucket="images", Key=key, Body=picture, ContentType="image/jpeg")
        print(f"put images/{key}: {described(picture)}", flush=True)
        deadline = began + ARRIVE_SECONDS
        while (small := found(s3, key)) is None:
            if time.monotonic() > deadline:
                bucketcast("target", "ls")
                sys.exit(f"no thumbnail came within {ARRIVE_SECONDS:.0f} s")
            time.sleep(0.02)
        waited = time.monotonic() - began
        print(f"got {THUMBNAILS}/{key} after {waited * 1000:.0f} ms: {described(small)}")
    print("stopped the thumbnailer; the local AWS runs until `make stop`")


@contextmanager
def service(port: int) -> Iterator[None]:
    """Run the thumbnailer for the duration of the block."""
    command = [sys.executable, str(FOLDER / "thumbnailer.py"), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            if process.stdout is None or not process.stdout.readline():
                sys.exit("the thumbnailer did not start")
            yield
        finally:
            process.terminate()


def found(s3: Any, key: str) -> bytes | None:
    """Wait for the thumbnail and return it."""
    try:
        return bytes(s3.get_object(Bucket=THUMBNAILS, Key=key)["Body"].read())
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchKey":
            raise
        return None


def described(picture: bytes) -> str:
    with Image.open(io.BytesIO(picture)) as opened:
        width, height = opened.size
    return f"{len(picture):,} bytes, {width} x {height} pixels"


def bucketcast(*words: str) -> None:
    """Run the command as a user would."""
    print(f"$ bucketcast {shlex.join(words)}", flush=True)
    if cli.main(words):
        sys.exit(f"bucketcast {shlex.join(words)} failed")


if __name__ == "__main__":
    main()
