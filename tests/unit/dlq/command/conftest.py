"""Queues that a command reads without a wait, and a folder for what it writes."""

from pathlib import Path

import pytest

from tests.unit.dlq.command.letters import read_at_once
from tests.unit.moto_aws import MotoAws


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, aws: MotoAws, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    read_at_once(monkeypatch)
    for name in ("Bucketcast-ingress", "Bucketcast-ingress-dead"):
        aws.sqs.create_queue(QueueName=name)
