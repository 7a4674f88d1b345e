"""Jobs on three executors, each a JVM of its own, which are killed while they work; so is a driver.

Where a kill must hit work in progress, files show that it is, and the local AWS, or the catalog of
the history, lets it wait meanwhile.
"""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from select import select
from typing import Any, Final

import psutil
import pytest

from bucketcast import sources
from bucketcast.delivery.envelope import unpack
from bucketcast.event.names import from_words
from bucketcast.rules import Rule
from bucketcast.state.lease import JOBS
from bucketcast.state.rules import Rules
from bucketcast.state.table import PARTITION_KEY, SORT_KEY
from glue_jobs import files
from glue_jobs.outbox import checkpoints
from tests.glue import inventories
from tests.glue.cluster_driver import home
from tests.glue.conftest import OTHER_ACCOUNTS, PACKAGES
from tests.glue.emulator import Emulator
from tests.glue.inventories import Row
from tests.glue.test_reconcile import ARN, EXTRA, MISSING, STALE, Job, damage, job  # noqa: F401
from tests.unit.moto_aws import TABLE
from tests.unit.samples import received

BUCKET: Final = "uploads"
EXECUTOR: Final = "CoarseGrainedExecutorBackend"
CALL: Final = 2_000
"""The most events of a chunk: ten messages of 200."""
EVENTS: Final = 30_000
VERSIONS: Final = 2_000
FOLDERS: Final = 3_000
GIVE_UP_SECONDS: Final = 600.0


class Driver:
    """A driver in a process of its own, and its executors; a killed one starts again."""

    def __init__(self, folder: Path, emulator: Emulator) -> None:
        self.folder = folder
        self._emulator = emulator
        self._home = home(folder / "spark")
        self._process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        inherited = {
            name: text
            for name, text in os.environ.items()
            # Those of Spark are of the tests' own session.
            if name not in OTHER_ACCOUNTS and not name.startswith(("SPARK_", "PYSPARK_"))
        }
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.glue.cluster_driver"],
                cwd=self.folder,
                env={
                    **inherited,
                    **self._emulator.variables(),
                    "PYTHONPATH": os.pathsep.join(map(str, PACKAGES)),
                    "PYSPARK_PYTHON": sys.executable,
                    "SPARK_HOME": str(self._home),
                    "SPARK_LOCAL_IP": "127.0.0.1",
                },
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                bufsize=1,
            )

    def run(self, name: str, arguments: dict[str, str]) -> dict[str, Any]:
        """Run a job, and return its result."""
        self.begin(name, arguments)
        assert self.end() == ""
        return read_result(arguments["run"])

    def begin(self, name: str, arguments: dict[str, str]) -> None:
        """Begin a job."""
        if self._process.poll() is not None:
            self._process = self._start()
        words = [f"--{key}={value}" for key, value in arguments.items()]
        assert self._process.stdin
        self._process.stdin.write(json.dumps([name, words]) + "\n")

    def until(self, condition: Callable[[], object]) -> None:
        """Wait, while the job runs, until it is true."""
        assert self._process.stdout
        give_up = time.monotonic() + GIVE_UP_SECONDS
        while not condition():
            assert not select([self._process.stdout], [], [], 0.01)[0], f"it ended: {self.end()}"
            assert time.monotonic() < give_up

    def end(self) -> str:
        """Wait until the job has ended, and return its error or ""."""
        assert self._process.stdout
        line = self._process.stdout.readline()
        assert line, "the driver ended"
        return line.strip()

    def lose_executor(self) -> None:
        """Kill an executor and its Python, as when its machine is gone."""
        for process in self._jvm().children():
            with suppress(psutil.NoSuchProcess):  # the JVM's other children are short-lived
                if any(EXECUTOR in word for word in process.cmdline()):
                    tree = [process, *process.children(recursive=True)]
                    process.kill()
                    assert not psutil.wait_procs(tree, GIVE_UP_SECONDS)[1]
                    return
        raise AssertionError("no executor")

    def kill(self) -> None:
        """Kill the driver, and wait until the executors have noticed."""
        jvm = self._jvm()
        tree = [jvm, *jvm.children(recursive=True)]
        self._process.kill()
        jvm.kill()
        self._process.communicate()
        assert not psutil.wait_procs(tree, GIVE_UP_SECONDS)[1]

    def _jvm(self) -> psutil.Process:
        return psutil.Process(self._process.pid).children()[0]

    def stop(self) -> None:
        """Stop it, and whatever is left of it."""
        if self._process.poll() is None:
            self.kill()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory, emulator: Emulator) -> Iterator[Driver]:
    driver = Driver(tmp_path_factory.mktemp("cluster"), emulator)
    yield driver
    driver.stop()


def add_rule(rules: Rules, events: str, arn: str) -> None:
    rules.add(Rule(bucket=BUCKET, arn=arn, events=from_words(events)))


def read_result(folder: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(files.read(f"{folder}/result.json"))
    return result


def skewed() -> Iterator[Row]:
    """Yield a bucket of which one key and one prefix have nearly all."""
    for nth in range(VERSIONS):
        yield Row(BUCKET, "a/one key", f"v{nth}", is_latest=nth == 0)
    for nth in range(FOLDERS):
        yield Row(BUCKET, f"big/{nth}/x", "null")
    for nth in range(300):
        yield Row(BUCKET, f"small/{nth}", "null")


def shuffling(folder: Path) -> set[Path]:
    """Return the folders of the executors that have parts of a shuffle."""
    return {
        Path(hashed).parents[1]
        for hashed, _, names in os.walk(folder)  # which skips a folder that goes meanwhile
        if any(name.startswith("shuffle_") and name.endswith(".data") for name in names)
    }


def test_a_scan_that_loses_an_executor_and_its_driver_alerts_once(
    driver: Driver, aws: Emulator, rules: Rules, tmp_path: Path
) -> None:
    """The executor has parts of a shuffle; the driver has sent, and commits to the history."""
    add_rule(rules, "scanner", "arn:minio:sqs::primary:webhook")
    sqs = aws.client("sqs")
    queue = sqs.create_queue(QueueName="cluster-alerts")["QueueUrl"]
    arguments = {
        "bucket": BUCKET,
        "source": inventories.write(tmp_path, skewed(), bucket=BUCKET, versions=True, files=3),
        "state": (tmp_path / "alerts").as_uri(),
        "ingress": queue,
        "table": TABLE,
        "history": "history.cluster",
        "retention": "400d",
        "namespace": "cluster",
        "alert_excess_versions": "1000",
        "alert_excess_folders": "1000",
    }
    lost, again, seen = (
        {**arguments, "run": (tmp_path / name).as_uri()} for name in ("lost", "again", "seen")
    )
    driver.begin("scan", lost)
    driver.until(lambda: len(shuffling(driver.folder)) == 3)
    driver.lose_executor()
    driver.until(lambda: list(tmp_path.glob("alerts/*/*/owed*")))
    catalog = sqlite3.connect(driver.folder / "catalog.db", isolation_level=None)
    with closing(catalog):
        catalog.execute("BEGIN IMMEDIATE")  # no other commit, until it is closed
        written = driver.folder / "history" / "cluster" / "findings" / "metadata"
        driver.until(lambda: len(list(written.glob("*.metadata.json"))) == 2)
        driver.kill()
    assert not (tmp_path / "lost" / "result.json").exists()
    expire_leases(aws)

    assert driver.run("scan", again)["numbers"] == {
        "ManyVersions": {"same": 1},
        "BigPrefix": {"same": 1},
    }
    alerts = [sources.events(message["Body"])[0] for message in received(sqs, queue)]
    assert sorted((event.key, event.size) for event in alerts) == [
        ("a/one key", VERSIONS),
        ("big/", FOLDERS),
    ]
    history = driver.run("history", seen)
    assert history["findings"] == [
        ["again", "BigPrefix", "same"],
        ["again", "ManyVersions", "same"],
        ["lost", "BigPrefix", "new"],
        ["lost", "ManyVersions", "new"],
    ]
    objects = FOLDERS + 301
    assert history["objects"] == [["again", objects], ["lost", objects]]


def test_a_reconcile_that_loses_an_executor_finds_and_repairs_all(
    driver: Driver,
    job: Job,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    """It lists the bucket; the executor is gone once its rows are there to be compared."""
    damage(job)
    folder = (tmp_path / "run").as_uri()
    driver.begin(
        "reconcile", {**job.arguments, "source": "listing", "mode": "repair", "run": folder}
    )
    driver.until((tmp_path / "run" / "rows" / "_SUCCESS").exists)
    driver.lose_executor()
    assert driver.end() == ""
    result = read_result(folder)
    found = tuple(result[what] for what in ("missing", "stale", "extra", "changing", "sent"))
    assert found == (len(MISSING), len(STALE), len(EXTRA), 0, 100)
    assert len(job.drain()) == 100


def test_a_backfill_that_loses_an_executor_and_its_driver_sends_all_events(
    driver: Driver, aws: Emulator, rules: Rules, tmp_path: Path
) -> None:
    """A call in which a task was killed may come twice, and nothing else does."""
    add_rule(rules, "put", "arn:minio:sqs::log:webhook")
    sqs = aws.client("sqs")
    queue = sqs.create_queue(QueueName="cluster-log")["QueueUrl"]
    rows = (Row(BUCKET, f"{nth:05}") for nth in range(EVENTS))
    run = tmp_path / "run"
    arguments = {
        "bucket": BUCKET,
        "source": inventories.write(
            tmp_path, rows, bucket=BUCKET, files=6, taken=datetime.now(UTC)
        ),
        "target": "arn:minio:sqs::log:webhook",
        "table": TABLE,
        "queue": queue,
        "rate": "0",
        "run": run.as_uri(),
    }
    driver.begin("backfill", arguments)
    kill_while_sending(driver, aws, run, 1, driver.lose_executor)
    kill_while_sending(driver, aws, run, 5, driver.kill)
    assert not (run / "result.json").exists()

    expire_leases(aws)
    assert driver.run("backfill", arguments)["events"] == EVENTS
    sent = Counter(delivery.event.key for body in bodies(sqs, queue) for delivery in unpack(body))
    assert len(sent) == EVENTS
    doubled = sent.total() - EVENTS
    assert doubled <= 4 * CALL, "calls of the executor's task, and of the driver's three"


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
