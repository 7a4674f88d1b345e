"""The consumer in examples/ prints what the target publishes."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bucketcast.settings import options
from bucketcast.targets.amqp import Target
from tests.contract.trial import DELETE, event
from tests.servers.amqp import AmqpServer

CONSUMER = Path(__file__).parents[2] / "examples" / "consumers" / "amqp.py"


@pytest.fixture
def amqp(server: Callable[[str], Any]) -> AmqpServer:
    found: AmqpServer = server("amqp")
    return found


@pytest.fixture
def consumer(amqp: AmqpServer) -> Iterator[subprocess.Popen[str]]:
    program = subprocess.Popen(
        [sys.executable, CONSUMER, amqp.destination, "--durable"],
        env={**os.environ, "AMQP_URL": amqp.url(), "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    with program:
        assert program.stdout is not None
        assert program.stdout.readline() == f"waiting for events of {amqp.destination}\n"
        yield program
        program.terminate()


def test_it_prints_what_is_delivered(amqp: AmqpServer, consumer: subprocess.Popen[str]) -> None:
    batch = [event("a b/é.jpg", 42), event("a b/é.jpg", 43, DELETE)]
    with Target(options.read(Target.Settings, amqp.settings())) as target:
        assert target.send(batch) == {}
    assert consumer.stdout is not None
    assert [consumer.stdout.readline().split() for _ in batch] == [
        [batch[0].time, "s3:ObjectCreated:Put", "uploads/a", "b/é.jpg", "42"],
        [batch[1].time, "s3:ObjectRemoved:Delete", "uploads/a", "b/é.jpg", "-"],
    ]


def test_a_refused_login_is_reported(amqp: AmqpServer) -> None:
    told = subprocess.run(
        [sys.executable, CONSUMER, amqp.destination],
        env={**os.environ, "AMQP_URL": amqp.url(password="other")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert told.returncode == 1
    assert f"cannot read {amqp.destination}: ProbableAuthenticationError" in told.stderr
