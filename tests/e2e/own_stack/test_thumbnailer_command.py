"""`examples/thumbnailer`: its one command, from nothing to a thumbnail."""

import os
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from tests.e2e.deployment import ROOT, UP_SECONDS, Local
from tests.servers.machine import ports

ANSWER_SECONDS = 30.0


def test_one_command_makes_a_thumbnail_of_a_photo(alone: Local) -> None:
    port = ports(alone.folder / "service", "http")["http"]
    environment = alone.environment(
        PYTHON=sys.executable, MINIO_NOTIFY_WEBHOOK_ENDPOINT_1=f"http://127.0.0.1:{port}/"
    )
    ran = subprocess.run(
        [str(ROOT / "examples" / "thumbnailer" / "run")],
        cwd=os.sep,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=UP_SECONDS,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "5,605 bytes, 480 x 320 pixels" in ran.stdout
    assert "bytes, 128 x 85 pixels" in ran.stdout
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=ANSWER_SECONDS)
    listed = subprocess.run(
        [str(ROOT / ".venv" / "bin" / "bucketcast"), "event", "ls", "images"],
        env=alone.exported(),
        capture_output=True,
        text=True,
        check=True,
        timeout=ANSWER_SECONDS,
    )
    assert "arn:minio:sqs::1:webhook  s3:ObjectCreated:*          .jpg" in listed.stdout
