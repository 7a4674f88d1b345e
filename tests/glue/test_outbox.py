"""The outbox against a real queue: everything arrives, and nothing goes twice."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from bucketcast.delivery.policy import FIFO
from bucketcast.errors import BucketcastError
from glue_jobs import files, outbox
from glue_jobs.outbox import checkpoints
from glue_jobs.outbox.checkpoints import Checkpoint
from glue_jobs.outbox.chunks import CHUNKS, Chunk
from glue_jobs.outbox.sender import RateLimit, Sender
from tests.glue.emulator import Emulator

EVENTS = 3
"""In each message of these tests."""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return (tmp_path / "outbox").as_uri()


def queue(aws: Emulator, name: str, **attributes: str) -> str:
    url: str = aws.client("sqs").create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    return url


def messages(spark: SparkSession, url: str, bodies: Iterable[str]) -> DataFrame:
    fifo = url.endswith(FIFO)
    rows = [(url, body, EVENTS, f"t-{body}" if fifo else "") for body in bodies]
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, 3), outbox.MESSAGES)


def taken(aws: Emulator, url: str) -> list[str]:
    """The bodies of all that waits, in their order; nothing waits afterwards."""
    sqs, found = aws.client("sqs"), list[str]()
    while got := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        for each in got:
            found.append(each["Body"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=each["ReceiptHandle"])
    return found


def bodies(aws: Emulator, url: str) -> Counter[str]:
    return Counter(taken(aws, url))


def chunks(spark: SparkSession, folder: str) -> list[Chunk]:
    rows = spark.read.schema(CHUNKS).parquet(f"{folder}/chunks").collect()
    return sorted(Chunk(*row) for row in rows)


def test_everything_arrives_once(spark: SparkSession, aws: Emulator, folder: str) -> None:
    url = queue(aws, "outbox-all")
    wanted = [f"message {n}" for n in range(95)]
    assert outbox.spool(messages(spark, url, wanted), folder) == 95 * EVENTS
    reported: list[tuple[int, int]] = []
    sent = outbox.send(
        spark, folder, rate=100_000, on_progress=lambda *so_far: reported.append(so_far)
    )
    assert sent == 95 * EVENTS
    assert bodies(aws, url) == Counter(wanted)
    assert reported[-1] == (95 * EVENTS, 95 * EVENTS)
    assert outbox.send(spark, folder) == 0
    assert not bodies(aws, url)


def test_only_a_finished_spool_is_kept(spark: SparkSession, folder: str, tmp_path: Path) -> None:
    outbox.spool(messages(spark, "https://sqs/a", ["first", "second"]).coalesce(1), folder)
    finished = tmp_path / "outbox" / "finished.json"
    assert json.loads(finished.read_bytes()) == {
        "chunks": 1,
        "events": 2 * EVENTS,
        "ordered": False,
    }
    again = messages(spark, "https://sqs/a", ["third"])
    assert outbox.spool(again, folder) == 2 * EVENTS
    finished.unlink()
    assert outbox.spool(again, folder) == EVENTS
    assert [chunk.bodies for chunk in chunks(spark, folder)] == [["third"]]


def test_nothing_is_sent_of_an_unfinished_spool(spark: SparkSession, folder: str) -> None:
    with pytest.raises(BucketcastError, match=r"finished\.json.*nothing was spooled"):
        outbox.send(spark, folder)


def test_no_message_is_no_work(spark: SparkSession, folder: str) -> None:
    assert outbox.spool(messages(spark, "https://sqs/a", []), folder) == 0
    assert outbox.send(spark, folder) == 0


def test_after_a_crash_the_rest_goes_and_nothing_else(
    spark: SparkSession, aws: Emulator, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first job dies after its third chunk, in the middle of a part."""
    url = queue(aws, "outbox-crash")
    wanted = [f"message {n}" for n in range(95)]
    outbox.spool(messages(spark, url, wanted), folder)
    sender = Sender(folder, RateLimit(0))
    spooled = chunks(spark, folder)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "write", Dying(checkpoints.write, after=3))
        with pytest.raises(KeyboardInterrupt):
            list(map(sender.send, spooled))
    first = bodies(aws, url)
    assert first.total() == 30
    assert outbox.send(spark, folder) == (95 - 30) * EVENTS
    assert first + bodies(aws, url) == Counter(wanted)


class Dying:
    """A function that ends its program right after one of its calls."""

    def __init__(self, function: Any, *, after: int) -> None:
        self._function, self._left = function, after

    def __call__(self, *arguments: Any) -> None:
        self._function(*arguments)
        self._left -= 1
        if not self._left:
            raise KeyboardInterrupt


def test_messages_that_sqs_refuses_are_reported_after_the_rest_was_sent(
    spark: SparkSession, aws: Emulator, folder: str
) -> None:
    """A body of more than 1 MiB, beside good ones."""
    url = queue(aws, "outbox-refused")
    good = [f"message {n}" for n in range(40)]
    outbox.spool(messages(spark, url, [*good[:20], "x" * (1 << 20 | 1), *good[20:]]), folder)
    with pytest.raises(
        BucketcastError, match=rf"^{EVENTS} events were not sent.*\n.*1048577 bytes"
    ):
        outbox.send(spark, folder)
    assert bodies(aws, url) == Counter(good)
    with pytest.raises(BucketcastError, match="1048577 bytes"):
        outbox.send(spark, folder)
    assert not bodies(aws, url), "what was taken does not go again"


def test_a_queue_that_is_not_there_stops_no_other(
    spark: SparkSession, aws: Emulator, folder: str
) -> None:
    url = queue(aws, "outbox-there")
    gone = url.replace("outbox-there", "outbox-gone")
    both = messages(spark, gone, ["a", "b"]).union(messages(spark, url, ["c", "d"]))
    outbox.spool(both, folder)
    with pytest.raises(
        BucketcastError, match=r"(?s)6 events were not sent.*outbox-gone: .*NonExistentQueue"
    ):
        outbox.send(spark, folder)
    assert bodies(aws, url) == Counter("cd")
    queue(aws, "outbox-gone")
    assert outbox.send(spark, folder) == 2 * EVENTS
    assert bodies(aws, gone) == Counter("ab")


def test_messages_of_a_fifo_queue_keep_their_order(
    spark: SparkSession, aws: Emulator, folder: str
) -> None:
    url = queue(aws, "outbox.fifo", FifoQueue="true")
    outbox.spool(messages(spark, url, map(str, range(57))), folder)
    assert len({chunk.part for chunk in chunks(spark, folder)}) == 3
    assert outbox.send(spark, folder) == 57 * EVENTS
    assert taken(aws, url) == [str(n) for n in range(57)]


@pytest.mark.parametrize("scheme", ["file", "s3"])
def test_marks_say_what_is_left(aws: Emulator, tmp_path: Path, scheme: str) -> None:
    aws.client("s3").create_bucket(Bucket="outbox-checkpoints")
    folder = tmp_path.as_uri() if scheme == "file" else "s3://outbox-checkpoints/run/outbox"
    checkpoints.write(folder, 3, 17, Checkpoint(2_000, frozenset()))
    checkpoints.write(folder, 3, 18, Checkpoint(1_600, frozenset({9, 4})))
    checkpoints.write(folder, 4, 17, Checkpoint(5, frozenset()))
    assert checkpoints.of_part(folder, 3) == {
        17: Checkpoint(2_000, frozenset()),
        18: Checkpoint(1_600, frozenset({4, 9})),
    }
    assert checkpoints.events(folder) == 3_605
    checkpoints.write(folder, 3, 18, Checkpoint(2_000, frozenset()))
    assert checkpoints.events(folder) == 4_005
    assert files.names(f"{folder}/done/5") == []
