"""The consumers in examples/ print what reaches them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.servers.machine import ports

EXAMPLES = Path(__file__).parents[2] / "examples" / "consumers"
EVENT = {
    "EventName": "s3:ObjectCreated:Put",
    "Key": "uploads/a b.jpg",
    "Records": [
        {
            "eventName": "s3:ObjectCreated:Put",
            "eventTime": "2026-01-02T03:04:05.678Z",
            "s3": {"bucket": {"name": "uploads"}, "object": {"key": "a+b.jpg", "size": 42}},
        },
        {
            "eventName": "s3:ObjectRemoved:Delete",
            "eventTime": "2026-01-02T03:04:06.678Z",
            "s3": {"bucket": {"name": "uploads"}, "object": {"key": "%C3%A9.jpg"}},
        },
    ],
}


@pytest.fixture
def port(tmp_path: Path) -> int:
    return ports(tmp_path, "webhook")["webhook"]


@pytest.fixture
def consumer(port: int) -> Iterator[subprocess.Popen[str]]:
    program = subprocess.Popen(
        [sys.executable, EXAMPLES / "webhook.py", "--port", str(port)],
        env={**os.environ, "AUTH_TOKEN": "t0ken", "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    with program:
        assert program.stdout is not None
        assert program.stdout.readline() == f"waiting for events at http://127.0.0.1:{port}\n"
        yield program
        program.terminate()


def test_the_webhook_consumer_prints_events(consumer: subprocess.Popen[str], port: int) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    statuses = []
    for body, token in [(EVENT, "t0ken"), (EVENT, "other"), ([], "t0ken")]:
        headers = {"Authorization": f"Bearer {token}"}
        connection.request("POST", "/events", json.dumps(body), headers)
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
    connection.close()
    consumer.terminate()
    printed, complaints = consumer.communicate()
    assert statuses == [204, 401, 400]
    assert [each.split() for each in printed.splitlines()] == [
        ["2026-01-02T03:04:05.678Z", "s3:ObjectCreated:Put", "uploads/a", "b.jpg", "42"],
        ["2026-01-02T03:04:06.678Z", "s3:ObjectRemoved:Delete", "uploads/é.jpg", "-"],
    ]
    assert complaints.startswith("not an event: ")


def test_a_busy_port_is_reported(consumer: subprocess.Popen[str], port: int) -> None:
    second = subprocess.run(
        [sys.executable, EXAMPLES / "webhook.py", "--port", str(port)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert consumer.poll() is None
    assert second.returncode == 1
    assert f"cannot listen at 127.0.0.1:{port}: Address already in use" in second.stderr
