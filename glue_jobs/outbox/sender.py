"""Send the spooled chunks, and write a checkpoint as soon as SQS accepted one."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from bucketcast.delivery.policy import keeps_order
from bucketcast.delivery.queue import SQS_ERRORS, Outgoing, Queue
from bucketcast.errors import BucketcastError
from glue_jobs import files
from glue_jobs.aws import client
from glue_jobs.outbox import checkpoints
from glue_jobs.outbox.checkpoints import Checkpoint
from glue_jobs.outbox.chunks import CHUNKS, Chunk
from glue_jobs.outbox.pace import RateLimit
from glue_jobs.run import background_thread

OnProgress = Callable[[int, int], None]
_REPORT_SECONDS: Final = 1.0
_TASK_RATE: Final = 2_000
"""The events a second that one task is to send: a call and its checkpoint."""
_MAX_REASONS: Final = 5
"""The most reasons that are reported."""


class Refusal(NamedTuple):
    """A queue that refused messages, and its reason."""

    queue: str
    reason: str


def send(
    spark: SparkSession,
    folder: str,
    *,
    rate: int = 0,
    on_progress: OnProgress = lambda _done, _total: None,
) -> int:
    """Send the chunks of a finished spool without a checkpoint; return the number of events sent.

    `rate` is in events a second, over all tasks together; 0 means no limit. About once a second a
    thread calls `on_progress(done, total)` with the number of events that SQS has accepted.

    A chunk is sent once, however often this is called and tasks are retried, but for one case: the
    chunk of a task that ends between SQS's response and the checkpoint is sent twice.

    Raises:
        BucketcastError: SQS refused messages, after everything else was sent; or there is no spool.
    """
    try:
        spooled = json.loads(files.read(f"{folder}/finished.json"))
    except files.MissingFileError as error:
        raise BucketcastError(f"{error}: no spool was finished there") from None
    total, before = spooled["events"], checkpoints.count_events(folder)
    refusals: list[Refusal] = []
    if before < total:
        chunks = _read_chunks(spark, folder, ordered=spooled["ordered"])
        report = partial(_report, folder, total, on_progress)
        with background_thread("outbox progress", report):
            refusals = _send_chunks(chunks, folder, rate)
    done = checkpoints.count_events(folder)
    on_progress(done, total)
    if refusals:
        raise _refusals_error(refusals, total - done)
    return done - before


def _read_chunks(spark: SparkSession, folder: str, *, ordered: bool) -> DataFrame:
    chunks = spark.read.schema(CHUNKS).parquet(f"{folder}/chunks")
    if not ordered:
        return chunks
    return chunks.repartition("queue").sortWithinPartitions("queue", "part", "chunk")


def _send_chunks(chunks: DataFrame, folder: str, rate: int) -> list[Refusal]:
    rows = chunks.rdd
    if rate:
        # A task that waits keeps its worker from being given back. So there are only as many as the
        # rate needs, and no more than can run at once, as they share it.
        cores = chunks.sparkSession.sparkContext.defaultParallelism
        rows = rows.coalesce(min(cores, -(-rate // _TASK_RATE)))
    share = rate / max(1, rows.getNumPartitions())
    return rows.mapPartitions(partial(_run_task, folder, share)).collect()


def _run_task(folder: str, rate: float, rows: Iterable[Sequence[object]]) -> Iterator[Refusal]:
    sender = Sender(folder, RateLimit(rate))
    for row in rows:
        sender.send(Chunk(*row))  # type: ignore[arg-type]  # a row of CHUNKS
    return iter(sender.refusals)


class Sender:
    """The sender of one task, which sends its chunks in order."""

    def __init__(self, folder: str, rate_limit: RateLimit) -> None:
        self.refusals: list[Refusal] = []
        self._folder = folder
        self._rate_limit = rate_limit
        self._part = -1
        self._checkpoints: dict[int, Checkpoint] = {}
        self._closed: set[str] = set()

    def send(self, chunk: Chunk) -> None:
        """Send those messages of a chunk that no checkpoint has, and write its checkpoint.

        A queue that does not answer gets no further chunks, nor does a FIFO queue after a gap.
        """
        if chunk.queue in self._closed:
            return
        indexes = self._unsent(chunk)
        if not indexes:
            return
        time.sleep(
            self._rate_limit.reserve(sum(chunk.counts[i] for i in indexes), time.monotonic())
        )
        messages = [Outgoing(chunk.bodies[i], token=chunk.tokens[i]) for i in indexes]
        try:
            refused = Queue(chunk.queue, client("sqs")).send(messages)
        except SQS_ERRORS as error:
            self._refuse(chunk.queue, str(error))
            self._closed.add(chunk.queue)
            return
        self._write_checkpoint(chunk, frozenset(indexes[i] for i in refused), len(indexes))
        for reason in refused.values():
            self._refuse(chunk.queue, reason)
        if refused and keeps_order(chunk.queue):
            self._closed.add(chunk.queue)

    def _unsent(self, chunk: Chunk) -> list[int]:
        """Return the indexes of the messages that SQS has not accepted yet."""
        if chunk.part != self._part:
            self._part = chunk.part
            self._checkpoints = checkpoints.read_part(self._folder, chunk.part)
        checkpoint = self._checkpoints.get(chunk.chunk)
        return list(range(len(chunk.bodies))) if checkpoint is None else sorted(checkpoint.refused)

    def _write_checkpoint(self, chunk: Chunk, refused: frozenset[int], tried: int) -> None:
        if len(refused) < tried:
            checkpoint = Checkpoint(chunk.events - sum(chunk.counts[i] for i in refused), refused)
            checkpoints.write(self._folder, chunk.part, chunk.chunk, checkpoint)

    def _refuse(self, queue: str, reason: str) -> None:
        refusal = Refusal(queue, reason)
        if refusal not in self.refusals and len(self.refusals) < _MAX_REASONS:
            self.refusals.append(refusal)


def _report(folder: str, total: int, on_progress: OnProgress, ended: threading.Event) -> None:
    """Report the progress until the event is set, less often if counting takes long."""
    pause = _REPORT_SECONDS
    while not ended.wait(pause):
        start = time.monotonic()
        on_progress(checkpoints.count_events(folder), total)
        pause = max(_REPORT_SECONDS, 10 * (time.monotonic() - start))


def _refusals_error(refusals: Iterable[Refusal], missing: int) -> BucketcastError:
    reasons = sorted({f"{queue}: {reason}" for queue, reason in refusals})
    more = (
        f"\nand {len(reasons) - _MAX_REASONS} reasons more" if len(reasons) > _MAX_REASONS else ""
    )
    return BucketcastError(
        f"{missing} events were not sent; the same run goes on with them once this is fixed:\n"
        + "\n".join(reasons[:_MAX_REASONS])
        + more
    )
