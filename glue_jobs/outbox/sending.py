"""Sending what was spooled: chunk by chunk, each marked as soon as SQS took it."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError
from pyspark.sql import DataFrame, SparkSession

from bucketcast.errors import BucketcastError
from bucketcast.queues import Outgoing, Queue
from glue_jobs import files
from glue_jobs.aws import client
from glue_jobs.outbox import marks
from glue_jobs.outbox.marks import Mark
from glue_jobs.outbox.pace import Pace
from glue_jobs.outbox.spooling import CHUNKS, Chunk

Says = Callable[[int, int], None]
_BETWEEN: Final = 1.0  # seconds
_REASONS: Final = 5
"""So many are told; the rest are alike."""


class OutboxError(BucketcastError):
    """SQS did not take everything; the text says which queue refused what, and why."""


class Refusal(NamedTuple):
    """Messages that a queue did not take, and its reason."""

    queue: str
    reason: str


def send(
    spark: SparkSession, folder: str, *, rate: int = 0, says: Says = lambda _done, _total: None
) -> int:
    """Send all chunks of a finished spool that have no mark, and answer how many events went now.

    `rate` is in events a second, over all tasks together; 0 is no limit. `says(done, total)` hears
    about once a second, from a thread of its own, how many events SQS has taken.

    A chunk goes once, however often this is called and whichever task is tried again, but for one
    case: a task that ends between SQS's answer and the mark sends that one chunk twice.

    Raises:
        OutboxError: SQS refused messages, after everything else was sent; or there is no spool.
    """
    try:
        spooled = json.loads(files.read(f"{folder}/finished.json"))
    except files.MissingFileError as error:
        raise OutboxError(f"{error}: nothing was spooled there to the end") from None
    total, before = spooled["events"], marks.events(folder)
    refusals: list[Refusal] = []
    if before < total:
        chunks = _chunks(spark, folder, ordered=spooled["ordered"])
        with _watched(folder, total, says):
            refusals = _sent(chunks, folder, rate)
    done = marks.events(folder)
    says(done, total)
    if refusals:
        raise _explained(refusals, total - done)
    return done - before


def _chunks(spark: SparkSession, folder: str, *, ordered: bool) -> DataFrame:
    chunks = spark.read.schema(CHUNKS).parquet(f"{folder}/chunks")
    if not ordered:
        return chunks
    return chunks.repartition("queue", "group").sortWithinPartitions(
        "queue", "group", "part", "chunk"
    )


def _sent(chunks: DataFrame, folder: str, rate: int) -> list[Refusal]:
    rows = chunks.rdd
    if rate:
        # No more tasks at once than share the rate, however many executors are added later.
        rows = rows.coalesce(chunks.sparkSession.sparkContext.defaultParallelism)
    share = rate / max(1, rows.getNumPartitions())
    return rows.mapPartitions(partial(_task, folder, share)).collect()


def _task(folder: str, rate: float, rows: Iterable[Sequence[object]]) -> Iterator[Refusal]:
    sender = Sender(folder, Pace(rate))
    for row in rows:
        sender.send(Chunk(*row))  # type: ignore[arg-type]  # a row of CHUNKS
    return iter(sender.refusals)


class Sender:
    """What one task sends, a chunk at a time, in the order in which they come."""

    def __init__(self, folder: str, pace: Pace) -> None:
        self.refusals: list[Refusal] = []
        self._folder = folder
        self._pace = pace
        self._part = -1
        self._marks: dict[int, Mark] = {}
        self._closed: set[tuple[str, str]] = set()

    def send(self, chunk: Chunk) -> None:
        """Send what has no mark yet, and mark it.

        A queue that does not answer is not asked again, nor is a group after a gap in it.
        """
        if not self._closed.isdisjoint({(chunk.queue, ""), (chunk.queue, chunk.group)}):
            return
        places = self._left(chunk)
        if not places:
            return
        time.sleep(self._pace.wait(sum(chunk.counts[p] for p in places), time.monotonic()))
        messages = [
            Outgoing(chunk.bodies[p], group=chunk.group, token=chunk.tokens[p]) for p in places
        ]
        try:
            refused = Queue(chunk.queue, client("sqs")).send(messages)
        except (BotoCoreError, ClientError) as error:
            self._refuse(chunk.queue, str(error))
            self._closed.add((chunk.queue, ""))
            return
        self._mark(chunk, frozenset(places[index] for index in refused), len(places))
        for reason in refused.values():
            self._refuse(chunk.queue, reason)
        if refused and chunk.group:
            self._closed.add((chunk.queue, chunk.group))

    def _left(self, chunk: Chunk) -> list[int]:
        """The places of the messages that SQS did not take yet."""
        if chunk.part != self._part:
            self._part, self._marks = chunk.part, marks.of_part(self._folder, chunk.part)
        mark = self._marks.get(chunk.chunk)
        return list(range(len(chunk.bodies))) if mark is None else sorted(mark.left)

    def _mark(self, chunk: Chunk, left: frozenset[int], tried: int) -> None:
        if len(left) < tried:
            taken = chunk.events - sum(chunk.counts[place] for place in left)
            marks.write(self._folder, chunk.part, chunk.chunk, Mark(taken, left))

    def _refuse(self, queue: str, reason: str) -> None:
        refusal = Refusal(queue, reason)
        if refusal not in self.refusals and len(self.refusals) < _REASONS:
            self.refusals.append(refusal)


@contextmanager
def _watched(folder: str, total: int, says: Says) -> Iterator[None]:
    """Tell how far it is while the block runs; many marks take long to count, and are seldom."""
    ended = threading.Event()

    def watch() -> None:
        pause = _BETWEEN
        while not ended.wait(pause):
            start = time.monotonic()
            says(marks.events(folder), total)
            pause = max(_BETWEEN, 10 * (time.monotonic() - start))

    watcher = threading.Thread(target=watch, name="outbox progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _explained(refusals: Iterable[Refusal], missing: int) -> OutboxError:
    told = sorted({f"{queue}: {reason}" for queue, reason in refusals})
    more = f"\nand {len(told) - _REASONS} reasons more" if len(told) > _REASONS else ""
    return OutboxError(
        f"{missing} events were not sent; the same run goes on with them once this is mended:\n"
        + "\n".join(told[:_REASONS])
        + more
    )
