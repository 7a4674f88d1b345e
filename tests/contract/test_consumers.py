"""The consumers in examples/ print what reaches them."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.contract.consumers import Consumer, consumer, failure, words
from tests.servers.machine import ports

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
def webhook(port: int) -> Iterator[Consumer]:
    with consumer("webhook", "--port", str(port), AUTH_TOKEN="t0ken") as program:
        assert words(program)[-2:] == ["at", f"http://127.0.0.1:{port}"]
        yield program


def test_the_webhook_consumer_prints_events(webhook: Consumer, port: int) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    statuses = []
    for body, token in [(EVENT, "t0ken"), (EVENT, "other"), ([], "t0ken")]:
        headers = {"Authorization": f"Bearer {token}"}
        connection.request("POST", "/events", json.dumps(body), headers)
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
    connection.close()
    webhook.terminate()
    printed, complaints = webhook.communicate()
    assert statuses == [204, 401, 400]
    assert [each.split() for each in printed.splitlines()] == [
        ["2026-01-02T03:04:05.678Z", "s3:ObjectCreated:Put", "uploads/a", "b.jpg", "42"],
        ["2026-01-02T03:04:06.678Z", "s3:ObjectRemoved:Delete", "uploads/é.jpg", "-"],
    ]
    assert complaints.startswith("not an event: ")


def test_a_busy_port_is_reported(webhook: Consumer, port: int) -> None:
    with consumer("webhook", "--port", str(port)) as second:
        assert f"cannot listen at 127.0.0.1:{port}: Address already in use" in failure(second)
    assert webhook.poll() is None
