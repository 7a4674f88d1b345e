"""`examples/thumbnailer`: its service, on the deployed stack's S3."""

import io
import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

from tests.e2e.deployment import ROOT
from tests.e2e.system import System
from tests.servers.machine import ports

EXAMPLE = ROOT / "examples" / "thumbnailer"
PHOTO = ROOT / "examples" / "photo.jpg"
ANSWER_SECONDS = 180.0
TURNED_RIGHT = 6
"""What EXIF says of a picture that lies on its side; its tag is 274."""


@pytest.fixture(scope="module")
def post(system: System, servers_folder: Path) -> Iterator[Callable[[str, str], int]]:
    """Run the service on the stack's S3: `post(bucket, key)` sends it an event."""
    port = ports(servers_folder / "thumbnailer-service", "http")["http"]
    arguments = [str(EXAMPLE / "thumbnailer.py"), "--port", str(port), "--into", "crowded"]
    with subprocess.Popen(
        [sys.executable, *arguments], env=system.environment, stdout=subprocess.PIPE, text=True
    ) as service:
        assert service.stdout is not None
        assert service.stdout.readline() == f"thumbnailer: waiting for events at port {port}\n"

        def post_event(bucket: str, key: str) -> int:
            s3 = {"bucket": {"name": bucket}, "object": {"key": key}}
            body = json.dumps({"Records": [{"s3": s3}]}).encode()
            request = urllib.request.Request(f"http://127.0.0.1:{port}/", body)
            try:
                with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:  # noqa: S310
                    return int(answer.status)
            except urllib.error.HTTPError as refusal:
                with refusal:
                    return refusal.code

        yield post_event
        service.terminate()


def test_thumbnail_is_upright(system: System, post: Callable[[str, str], int], prefix: str) -> None:
    made = io.BytesIO()
    with Image.open(PHOTO) as photo:
        exif = photo.getexif()
        exif[274] = TURNED_RIGHT
        photo.save(made, "JPEG", exif=exif)
    system.put("uploads", f"{prefix}a b+é.jpg", made.getvalue())
    assert post("uploads", f"{prefix}a+b%2B%C3%A9.jpg") == 204
    small = system.s3.get_object(Bucket="crowded", Key=f"{prefix}a b+é.jpg")
    assert small["ContentType"] == "image/jpeg"
    with Image.open(io.BytesIO(small["Body"].read())) as picture:
        assert (picture.format, picture.size) == ("JPEG", (85, 128))


def test_file_that_is_no_picture_is_rejected(
    system: System, post: Callable[[str, str], int], prefix: str
) -> None:
    system.put("uploads", f"{prefix}text.jpg", b"no picture")
    system.put("uploads", f"{prefix}half.jpg", PHOTO.read_bytes()[:2000])
    assert post("uploads", f"{prefix}text.jpg") == 422
    assert post("uploads", f"{prefix}half.jpg") == 422


def test_deleted_object_needs_no_thumbnail(post: Callable[[str, str], int], prefix: str) -> None:
    assert post("uploads", f"{prefix}gone.jpg") == 204


def test_events_that_s3_refuses_are_retried(post: Callable[[str, str], int], prefix: str) -> None:
    assert post("no-such-bucket", f"{prefix}photo.jpg") == 503
