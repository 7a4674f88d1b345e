"""The consumer in examples/ prints what the target wrote."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bucketcast.settings.options import read
from bucketcast.targets.kafka import Target
from tests.contract.trial import DELETE, bounded, event
from tests.servers import Server
from tests.servers.kafka import PASSWORD, USER

CONSUMER = Path(__file__).parents[2] / "examples" / "consumers" / "kafka.py"
LOGIN = {"KAFKA_USERNAME": USER, "KAFKA_PASSWORD": PASSWORD, "PYTHONIOENCODING": "utf-8"}


def test_the_kafka_consumer_prints_old_events_and_new_ones(server: Callable[[str], Server]) -> None:
    kafka = server("kafka")
    with (
        Target(read(Target.Settings, kafka.settings())) as target,
        subprocess.Popen(
            [sys.executable, str(CONSUMER), kafka.address, kafka.destination],
            env={**os.environ, **LOGIN},
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        ) as program,
    ):
        assert program.stdout is not None
        try:
            assert target.send([event("a b.jpg", 1), event("é.jpg", 2, DELETE)]) == {}
            printed = [bounded(program.stdout.readline) for _ in range(2)]
            assert target.send([event("new", 3)]) == {}
            printed.append(bounded(program.stdout.readline))
        finally:
            program.terminate()
    assert [each.split() for each in printed] == [
        ["2026-01-02T03:00:00.001Z", "s3:ObjectCreated:Put", "uploads/a", "b.jpg", "1"],
        ["2026-01-02T03:00:00.002Z", "s3:ObjectRemoved:Delete", "uploads/é.jpg", "-"],
        ["2026-01-02T03:00:00.003Z", "s3:ObjectCreated:Put", "uploads/new", "3"],
    ]


def test_a_missing_topic_is_waited_for(server: Callable[[str], Server]) -> None:
    kafka = server("kafka")
    with subprocess.Popen(
        [sys.executable, CONSUMER, kafka.address, "nothing"],
        env={**os.environ, **LOGIN},
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stderr is not None
        try:
            assert bounded(program.stderr.readline) == "waiting for nothing\n"
        finally:
            program.terminate()
