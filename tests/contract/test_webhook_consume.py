"""`examples/consume.py` receives webhooks."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.contract.case import DELETE, HANGS_AFTER
from tests.contract.reader import Reader, failure, reader, wait_until_reading
from tests.servers.machine import ports


@pytest.fixture
def endpoint(tmp_path: Path) -> str:
    return f"http://127.0.0.1:{ports(tmp_path, 'webhook')['webhook']}/events"


@pytest.fixture
def webhook(endpoint: str) -> Iterator[Reader]:
    with reader("webhook", {"endpoint": endpoint, "auth_token": "t0ken"}) as program:
        wait_until_reading(program, endpoint)
        yield program


def test_a_webhook_accepts_what_it_printed(webhook: Reader, endpoint: str) -> None:
    connection = HTTPConnection(endpoint.split("/")[2], timeout=HANGS_AFTER)
    record = {
        "eventName": DELETE,
        "eventTime": "2026-01-02T03:04:06.678Z",
        "s3": {"bucket": {"name": "uploads"}, "object": {"key": "%C3%A9.jpg"}},
    }
    statuses = []
    for body, token in [
        ({"Records": [record]}, "t0ken"),
        ({"Records": []}, "other"),
        ([], "t0ken"),
    ]:
        headers = {"Authorization": f"Bearer {token}"}
        connection.request("POST", "/events", json.dumps(body), headers)
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
    connection.close()
    webhook.terminate()
    printed, complaints = webhook.communicate()
    assert statuses == [204, 401, 400]
    assert printed.split() == ["2026-01-02T03:04:06.678Z", DELETE, "uploads/é.jpg", "-"]
    assert complaints.startswith("not an event: ")


def test_a_busy_port_is_reported(webhook: Reader, endpoint: str) -> None:
    with reader("webhook", {"endpoint": endpoint}) as second:
        assert "Address already in use" in failure(second)
    assert webhook.poll() is None
