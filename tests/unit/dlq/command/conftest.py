"""Queues that a command reads without a wait."""

import time

import pytest

from bucketcast.dlq.aws import reader
from tests.unit.moto_aws import MotoAws


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, aws: MotoAws) -> None:
    monkeypatch.setattr(reader, "_WAIT_SECONDS", 0)
    # moto does not tell the time; what a test sent before is older than its command.
    ahead = lambda *_: round(time.time() * 1000) + 1  # noqa: E731
    monkeypatch.setattr("bucketcast.dlq.command.move.server_time", ahead)
    for name in ("Bucketcast-ingress", "Bucketcast-ingress-dead"):
        aws.sqs.create_queue(QueueName=name)
