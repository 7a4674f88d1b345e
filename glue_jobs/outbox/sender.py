"""Send the spooled chunks, and write a checkpoint as soon as SQS accepted one."""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from bucketcast.delivery.envelope import unpack
from bucketcast.delivery.policy import History, keeps_order
from bucketcast.delivery.queue import SQS_ERRORS, Outgoing, Queue
from bucketcast.errors import BucketcastError
from glue_jobs import files, not_sent
from glue_jobs.aws import client
from glue_jobs.not_sent import NotSent
from glue_jobs.outbox import checkpoints
from glue_jobs.outbox.checkpoints import Checkpoint
from glue_jobs.outbox.chunks import CHUNKS, Chunk
from glue_jobs.outbox.pace import FOREVER, Pace
from glue_jobs.run import background_thread

OnProgress = Callable[[int, int], None]
_REPORT_SECONDS: Final = 1.0
TASK_RATE: Final = 2_000
"""The events a second that one task is to send: a call and its checkpoint."""
REFUSED: Final = "not-sent/messages"
_MAX_REASONS: Final = 5
"""The most reasons that are reported."""


class Refusal(NamedTuple):
    """Why messages were refused; the task that `stopped` sent nothing after that."""

    reason: str
    stopped: bool


class RefusedError(BucketcastError):
    """SQS refused single messages, and took all others."""


def send(  # noqa: PLR0913 - what to send, where to, how fast and how long
    spark: SparkSession,
    folder: str,
    queue: str,
    total: int,
    *,
    to: Collection[str] | None = None,
    rate: int = 0,
    run: str = "",
    until: float = FOREVER,
    on_progress: OnProgress = lambda _done, _total: None,
) -> int:
    """Send the chunks of a spool without a checkpoint; return the number of events sent.

    The spool has a `total` of events.
    `queue` is the URL of the queue that they are for now, whatever it was when they were spooled.
    Of those for one destination only those for these are sent, by their ARNs; None means all.
    `rate` is in events a second, over all tasks together; 0 means no limit. The objects of messages
    that SQS refuses are listed in `not-sent/messages` in the folder `run`. Nothing is sent after
    `until`, in Unix seconds. About once a second a thread calls `on_progress(done, total)` with the
    number of events that SQS has accepted.

    A chunk that has a checkpoint when a task begins with its part is not sent again, however often
    this is called and tasks are retried. It is sent twice if its task ends between SQS's response
    and the checkpoint, or if two tasks work on one part: the old one of an executor that Spark gave
    up, and the new one.

    Raises:
        RefusedError: SQS refused messages, after everything else was sent.
        BucketcastError: the queue did not answer, or is a FIFO queue and refused a message.
    """
    before = checkpoints.count_events(folder)
    refusals: list[Refusal] = []
    if run:
        files.remove(f"{run}/{REFUSED}")
    if before < total:
        chunks = _read_chunks(spark, folder, ordered=keeps_order(queue))
        if to is not None:
            chunks = chunks.where(chunks["to"].isin("", *to))
        report = partial(_report, folder, total, on_progress)
        with background_thread("outbox progress", report):
            refusals = _send_chunks(chunks, Task(queue, folder, rate, 1, run, until))
    done = checkpoints.count_events(folder)
    on_progress(done, total)
    if refusals:
        raise _refusals_error(refusals, total - done, queue)
    return done - before


def _read_chunks(spark: SparkSession, folder: str, *, ordered: bool) -> DataFrame:
    chunks = spark.read.schema(CHUNKS).parquet(f"{folder}/chunks")
    if not ordered:
        return chunks
    return chunks.coalesce(1).sortWithinPartitions("part", "chunk")


def count_tasks(spark: SparkSession, rate: int) -> int:
    """Return how many tasks are to send at a time, at most.

    A task that waits keeps its worker from being given back. So there are only as many as the rate
    needs, and no more than can run at once, as they share it.
    """
    cores = spark.sparkContext.defaultParallelism
    return min(cores, -(-rate // TASK_RATE)) if rate else cores


class Task(NamedTuple):
    """What a task needs besides its chunks: the arguments of `send`, and how many run at once."""

    queue: str
    folder: str
    rate: int
    tasks: int
    run: str
    until: float


def _send_chunks(chunks: DataFrame, task: Task) -> list[Refusal]:
    rows = chunks.rdd
    most = count_tasks(chunks.sparkSession, task.rate)
    if task.rate:
        rows = rows.coalesce(most)
    tasks = max(1, min(most, rows.getNumPartitions()))
    return rows.mapPartitions(partial(run_task, task._replace(tasks=tasks))).collect()


def run_task(task: Task, rows: Iterable[Sequence[object]]) -> Iterator[Refusal]:
    """Send the chunks of one task in order; return the first reasons why SQS refused some."""
    pace = Pace(task.rate, task.tasks, task.until)
    sender = Sender(task.queue, task.folder, pace, f"{task.run}/{REFUSED}" if task.run else "")
    refusals: set[Refusal] = set()
    for row in rows:
        refused = sender.send(Chunk(*row))  # type: ignore[arg-type]  # a row of CHUNKS
        refusals.update(refused or ())
        if refused is None or any(refusal.stopped for refusal in refused):
            break
    # The one that stopped it comes first: it says that more was not sent than was refused.
    return iter(sorted(refusals, key=lambda one: (not one.stopped, one))[:_MAX_REASONS])


class Sender:
    """The sender of one task, which sends its chunks in order.

    `refused` is the folder for lists of what SQS refuses, "" for none.
    """

    def __init__(self, queue: str, folder: str, pace: Pace, refused: str = "") -> None:
        self._queue = queue
        self._refused = refused
        self._folder = folder
        self._pace = pace
        self._part = -1
        self._checkpoints: dict[int, Checkpoint] = {}

    def send(self, chunk: Chunk) -> list[Refusal] | None:
        """Send those messages of a chunk that no checkpoint has, and write its checkpoint.

        Return what was refused, or None if no chunk at all may be sent now. After a `stopped` one
        the queue must get no more: it does not answer, or a FIFO queue would have a gap.
        """
        indexes = self._unsent(chunk)
        if not indexes:
            return []
        if not self._pace.wait(sum(chunk.counts[i] for i in indexes)):
            return None
        history = History(to=chunk.to)
        messages = [
            Outgoing(chunk.bodies[i], history=history, token=chunk.tokens[i]) for i in indexes
        ]
        try:
            refused = Queue(self._queue, client("sqs")).send(messages)
        except SQS_ERRORS as error:
            return [Refusal(str(error), stopped=True)]
        self._write_checkpoint(chunk, frozenset(indexes[i] for i in refused), len(indexes))
        if refused and self._refused:
            url = f"{self._refused}/{chunk.part}-{chunk.chunk}.csv"
            bodies = {messages[i].body: reason for i, reason in refused.items()}
            not_sent.write(url, _list_objects(bodies))
        stopped = keeps_order(self._queue)
        return [Refusal(reason, stopped) for reason in refused.values()]

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


def _list_objects(reasons: Mapping[str, str]) -> Iterator[NotSent]:
    """Yield the objects of refused messages, by the bodies of these."""
    for body, reason in reasons.items():
        for delivery in unpack(body):
            event = delivery.event
            yield NotSent(event.bucket, event.key, event.version_id, reason)


def _report(folder: str, total: int, on_progress: OnProgress, ended: threading.Event) -> None:
    """Report the progress until the event is set, less often if counting takes long."""
    pause = _REPORT_SECONDS
    while not ended.wait(pause):
        start = time.monotonic()
        on_progress(checkpoints.count_events(folder), total)
        pause = max(_REPORT_SECONDS, 10 * (time.monotonic() - start))


def _refusals_error(refusals: Sequence[Refusal], missing: int, queue: str) -> BucketcastError:
    by_weight = sorted(refusals, key=lambda each: (not each.stopped, each.reason))
    reasons = [*dict.fromkeys(f"{queue}: {each.reason}" for each in by_weight)]
    kind = BucketcastError if any(refusal.stopped for refusal in refusals) else RefusedError
    return kind(
        f"{missing} events were not sent; the same run goes on with them once this is fixed:\n"
        + "\n".join(reasons[:_MAX_REASONS])
    )
