"""The outbox with a real queue: every message arrives, and none is sent twice."""

import tracemalloc
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from bucketcast.delivery.policy import FIFO
from bucketcast.errors import BucketcastError
from glue_jobs import files
from glue_jobs.outbox import checkpoints
from glue_jobs.outbox import chunks as outbox
from glue_jobs.outbox.checkpoints import Checkpoint
from glue_jobs.outbox.chunks import CHUNKS, Chunk, Message
from glue_jobs.outbox.pace import Pace
from glue_jobs.outbox.sender import Sender, send
from tests.glue.emulator import Emulator

EVENTS = 3
"""The number of events in each message of these tests."""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return (tmp_path / "outbox").as_uri()


def queue(aws: Emulator, name: str, **attributes: str) -> str:
    url: str = aws.client("sqs").create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    return url


def messages(spark: SparkSession, url: str, bodies: Iterable[str]) -> DataFrame:
    fifo = url.endswith(FIFO)
    rows = [(body, EVENTS, f"t-{body}" if fifo else "") for body in bodies]
    columns = "body string, events long, token string"
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, 3), columns)


def spool(messages: DataFrame, folder: str) -> int:
    return outbox.spool(messages, lambda rows: (Message(*row) for row in rows), folder)


def chunks(spark: SparkSession, folder: str) -> list[Chunk]:
    rows = spark.read.schema(CHUNKS).parquet(f"{folder}/chunks").collect()
    return sorted(Chunk(*row) for row in rows)


@pytest.mark.both_sparks
def test_every_message_arrives_once(spark: SparkSession, aws: Emulator, folder: str) -> None:
    url = queue(aws, "outbox-all")
    wanted = [f"message {n}" for n in range(95)]
    assert spool(messages(spark, url, wanted), folder) == 95 * EVENTS
    reported: list[tuple[int, int]] = []
    sent = send(
        spark,
        folder,
        url,
        95 * EVENTS,
        rate=100_000,
        on_progress=lambda *progress: reported.append(progress),
    )
    assert sent == 95 * EVENTS
    assert Counter(aws.drain(url)) == Counter(wanted)
    assert reported[-1] == (95 * EVENTS, 95 * EVENTS)
    assert send(spark, folder, url, 95 * EVENTS) == 0
    assert not aws.drain(url)


@pytest.mark.parametrize(("rate", "tasks"), [(1_000, 1), (2_001, 2)])
def test_a_rate_limit_leaves_the_other_cores_free(
    spark: SparkSession, aws: Emulator, folder: str, rate: int, tasks: int
) -> None:
    """On two cores, of three parts: workers without a task are given back."""
    url = queue(aws, f"outbox-limited-{rate}")
    spool(messages(spark, url, map(str, range(3))), folder)
    spark.sparkContext.setJobGroup(url, "sending")
    try:
        assert send(spark, folder, url, 3 * EVENTS, rate=rate) == 3 * EVENTS
    finally:
        spark.sparkContext._jsc.sc().clearJobGroup()
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(url)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    assert [stage.numTasks for stage in stages if stage] == [tasks]


def test_an_empty_spool_sends_no_message(spark: SparkSession, folder: str) -> None:
    assert spool(messages(spark, "https://sqs/a", []), folder) == 0
    assert send(spark, folder, "-", 0) == 0


@pytest.mark.parametrize(("noted", "again"), [(True, 0), (False, 10)])
def test_only_the_rest_is_sent_after_a_crash(
    spark: SparkSession,
    aws: Emulator,
    folder: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    noted: bool,
    again: int,
) -> None:
    """A task dies in the middle of a part: the call that it has not noted comes twice."""
    url = queue(aws, f"outbox-crash-{again}")
    wanted = [f"message {n}" for n in range(95)]
    spool(messages(spark, url, wanted), folder)
    sender = Sender(url, folder, Pace(0))
    spooled = chunks(spark, folder)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "write", Crashing(checkpoints.write, 3, noted=noted))
        with pytest.raises(KeyboardInterrupt):
            list(map(sender.send, spooled))
    first = Counter(aws.drain(url))
    assert first.total() == 30
    assert send(spark, folder, url, 95 * EVENTS) == (95 - 30 + again) * EVENTS
    total = first + Counter(aws.drain(url))
    assert set(total) == set(wanted)
    assert total.total() == 95 + again


class Crashing:
    """A function that ends its program at one of its calls, `noted` if right after it."""

    def __init__(self, function: Any, call: int, *, noted: bool) -> None:
        self._function, self._remaining, self._noted = function, call, noted

    def __call__(self, *arguments: Any) -> None:
        self._remaining -= 1
        if self._remaining or self._noted:
            self._function(*arguments)
        if not self._remaining:
            raise KeyboardInterrupt


def test_a_refused_message_is_reported_after_the_rest_was_sent(
    spark: SparkSession, aws: Emulator, folder: str
) -> None:
    """A body of more than 1 MiB, beside good ones."""
    url = queue(aws, "outbox-refused")
    good = [f"message {n}" for n in range(40)]
    spool(messages(spark, url, [*good[:20], "x" * (1 << 20 | 1), *good[20:]]), folder)
    with pytest.raises(
        BucketcastError, match=rf"^{EVENTS} events were not sent.*\n.*1048577 bytes"
    ):
        send(spark, folder, url, 41 * EVENTS)
    assert Counter(aws.drain(url)) == Counter(good)
    with pytest.raises(BucketcastError, match="1048577 bytes"):
        send(spark, folder, url, 41 * EVENTS)
    assert not aws.drain(url), "accepted messages are not sent again"


def test_what_a_missing_queue_did_not_get_goes_to_the_one_of_a_later_run(
    spark: SparkSession, aws: Emulator, folder: str
) -> None:
    url = queue(aws, "outbox-later")
    spool(messages(spark, url, ["a", "b"]), folder)
    missing = url.replace("outbox-later", "outbox-gone")
    with pytest.raises(
        BucketcastError, match=r"(?s)6 events were not sent.*outbox-gone: .*NonExistentQueue"
    ):
        send(spark, folder, missing, 2 * EVENTS)
    assert send(spark, folder, url, 2 * EVENTS) == 2 * EVENTS
    assert Counter(aws.drain(url)) == Counter("ab")


def test_messages_of_a_fifo_queue_keep_their_order(
    spark: SparkSession, aws: Emulator, folder: str
) -> None:
    url = queue(aws, "outbox.fifo", FifoQueue="true")
    spool(messages(spark, url, map(str, range(57))), folder)
    assert len({chunk.part for chunk in chunks(spark, folder)}) == 3
    assert send(spark, folder, url, 57 * EVENTS) == 57 * EVENTS
    assert aws.drain(url) == [str(n) for n in range(57)]


def test_checkpoints_name_the_refused_messages(aws: Emulator) -> None:
    aws.client("s3").create_bucket(Bucket="outbox-checkpoints")
    folder = "s3://outbox-checkpoints/run/outbox"
    checkpoints.write(folder, 3, 17, Checkpoint(2_000, frozenset()))
    checkpoints.write(folder, 3, 18, Checkpoint(1_600, frozenset({9, 4})))
    checkpoints.write(folder, 4, 17, Checkpoint(5, frozenset()))
    assert checkpoints.read_part(folder, 3) == {
        17: Checkpoint(2_000, frozenset()),
        18: Checkpoint(1_600, frozenset({4, 9})),
    }
    assert checkpoints.count_events(folder) == 3_605
    checkpoints.write(folder, 3, 18, Checkpoint(2_000, frozenset()))
    assert checkpoints.count_events(folder) == 4_005
    assert not list(files.list_files(f"{folder}/done/5"))


def test_events_are_counted_in_the_memory_of_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver counts them once a second: of a billion there are 500,000 checkpoints."""
    names = (f"{part}/{chunk}-10" for part in range(200) for chunk in range(100))
    monkeypatch.setattr(files, "list_files", lambda _: names)
    tracemalloc.start()
    events = checkpoints.count_events("s3://pipeline/run/outbox")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (events, most < 200_000) == (200_000, True)
