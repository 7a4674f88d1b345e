"""A backfill on two executors, each a JVM of its own; one is killed while it works, and the driver.

Files show that a kill hits work in progress, and the local AWS lets it wait meanwhile.
"""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psutil
import pytest
from pyspark.sql import SparkSession

from bucketcast.delivery.envelope import unpack
from bucketcast.rules import Rule
from bucketcast.settings.pipeline import Backfill, parse
from bucketcast.state.lease import JOBS
from bucketcast.state.rules import Rules
from bucketcast.state.table import PARTITION_KEY, SORT_KEY
from glue_jobs.backfill.backfill import backfill
from glue_jobs.outbox import checkpoints
from glue_jobs.run import Run
from tests.glue import inventories
from tests.glue.cluster_driver import home
from tests.glue.conftest import OTHER_ACCOUNTS, PACKAGES
from tests.glue.emulator import Emulator
from tests.glue.inventories import Row
from tests.unit.moto_aws import TABLE

BUCKET: Final = "uploads"
ARN: Final = "arn:minio:sqs::log:webhook"
EXECUTOR: Final = "CoarseGrainedExecutorBackend"
CALL: Final = 2_000
"""The most events of a chunk: ten messages of 200."""
EVENTS: Final = 20_000
GIVE_UP_SECONDS: Final = 600.0


class Driver:
    """A driver in a process of its own, and its executors."""

    def __init__(self, folder: Path, emulator: Emulator, arguments: list[str]) -> None:
        folder.mkdir()
        inherited = {
            name: text
            for name, text in os.environ.items()
            # Those of Spark are of the tests' own session.
            if name not in OTHER_ACCOUNTS and not name.startswith(("SPARK_", "PYSPARK_"))
        }
        self._log = folder / "log"
        with self._log.open("wb") as log:
            self._process = psutil.Popen(
                [sys.executable, "-m", "tests.glue.cluster_driver", *arguments],
                cwd=folder,
                env={
                    **inherited,
                    **emulator.variables(),
                    "PYTHONPATH": os.pathsep.join(map(str, PACKAGES)),
                    "PYSPARK_PYTHON": sys.executable,
                    "SPARK_HOME": str(home(folder / "spark")),
                    "SPARK_LOCAL_IP": "127.0.0.1",
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def until(self, condition: Callable[[], object]) -> None:
        """Wait, while the job runs, until it is true."""
        give_up = time.monotonic() + GIVE_UP_SECONDS
        while not condition():
            assert self._process.poll() is None, self._log.read_text(errors="replace")
            assert time.monotonic() < give_up
            time.sleep(0.01)

    def lose_executor(self) -> None:
        """Kill an executor and its Python, as when its machine is gone."""
        (java,) = self._process.children()
        for process in java.children():
            with suppress(psutil.NoSuchProcess):  # Java's other children are short-lived
                if any(EXECUTOR in word for word in process.cmdline()):
                    tree = [process, *process.children(recursive=True)]
                    process.kill()
                    assert not psutil.wait_procs(tree, GIVE_UP_SECONDS)[1]
                    return
        raise AssertionError("no executor")

    def kill(self) -> None:
        """Kill the driver, if it runs, and wait until the executors have noticed."""
        if self._process.poll() is None:
            java, *others = self._process.children(recursive=True)
            self._process.kill()
            java.kill()
            gone = [self._process, java, *others]
            assert not psutil.wait_procs(gone, GIVE_UP_SECONDS)[1]


@pytest.fixture
def arguments(aws: Emulator, rules: Rules, tmp_path: Path) -> dict[str, str]:
    """Return the arguments of a backfill of a whole bucket."""
    rules.add(Rule(bucket=BUCKET, arn=ARN, events=("s3:ObjectCreated:*",)))
    rows = (Row(BUCKET, f"{nth:05}") for nth in range(EVENTS))
    return {
        "bucket": BUCKET,
        "source": inventories.write(
            tmp_path, rows, bucket=BUCKET, files=4, taken=datetime.now(UTC)
        ),
        "target": ARN,
        "table": TABLE,
        "queue": aws.client("sqs").create_queue(QueueName="cluster-log")["QueueUrl"],
        "rate": "0",
        "run": (tmp_path / "run").as_uri(),
    }


def test_a_backfill_that_loses_an_executor_and_its_driver_sends_all_events(
    spark: SparkSession, aws: Emulator, arguments: dict[str, str], tmp_path: Path
) -> None:
    """A call in which a task was killed may come twice, and nothing else does."""
    words = [f"--{key}={value}" for key, value in arguments.items()]
    driver = Driver(tmp_path / "cluster", aws, words)
    run = tmp_path / "run"
    try:
        kill_while_sending(driver, aws, run, 1, driver.lose_executor)
        kill_while_sending(driver, aws, run, 4, driver.kill)
    finally:
        driver.kill()
    assert not (run / "result.json").exists()

    expire_leases(aws)
    with Run(arguments["run"]) as resumed:
        backfill(spark, parse(Backfill, words), resumed)
    sqs = aws.client("sqs")
    messages = bodies(sqs, arguments["queue"])
    sent = Counter(delivery.event.key for body in messages for delivery in unpack(body))
    assert len(sent) == EVENTS
    doubled = sent.total() - EVENTS
    assert doubled <= 3 * CALL, "calls of the executor's task, and of the driver's two"


def kill_while_sending(
    driver: Driver, aws: Emulator, run: Path, chunks: int, kill: Callable[[], None]
) -> None:
    """Kill when so many chunks are sent, and while SQS does not answer to the next."""
    driver.until(lambda: len(list(run.glob("outbox/*/done/*/*"))) >= chunks)
    aws.pause()
    try:
        kill()
    finally:
        aws.resume()
    (spool,) = (path.as_uri() for path in run.glob("outbox/*"))
    assert checkpoints.count_events(spool) < EVENTS


def expire_leases(aws: Emulator) -> None:
    """End the leases of runs that are dead, as a minute does."""
    dynamodb = aws.client("dynamodb")
    for item in dynamodb.scan(TableName=TABLE)["Items"]:
        if item[PARTITION_KEY]["S"] == JOBS:
            key = {name: item[name] for name in (PARTITION_KEY, SORT_KEY)}
            dynamodb.delete_item(TableName=TABLE, Key=key)


def bodies(sqs: Any, queue: str) -> Iterator[str]:
    """Yield the bodies of all messages, and delete these."""
    while batch := sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages"):
        for message in batch:
            yield message["Body"]
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
