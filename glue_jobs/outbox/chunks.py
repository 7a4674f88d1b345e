"""The spool: messages in chunks, written before any of them is sent."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from pyspark import Accumulator
from pyspark.sql import DataFrame

from bucketcast.delivery.envelope import MAX_BYTES
from bucketcast.limits import SQS_CALL_MESSAGES
from glue_jobs.columns import schema

_LARGE_ROWS: Final = {
    "parquet.block.size": str(16 << 20),
    "parquet.block.size.row.check.min": "4",
    "parquet.page.size.row.check.min": "4",
}
"""A row may have 1 MiB, and writers and readers hold a row group in memory, by default of at least
100 rows."""


class Message(NamedTuple):
    """A message: its body, and the number of its events.

    `token` is a FIFO queue's, whose messages keep the order of their rows. `to` is the ARN of the
    only destination of events for the ingress queue, "" for all that the rules name.
    """

    body: str
    events: int
    token: str = ""
    to: str = ""


class Chunk(NamedTuple):
    """The messages of one call; `counts` are their events.

    A chunk's number counts within its part, in the order of the messages.
    """

    part: int
    chunk: int
    to: str
    events: int
    bodies: list[str]
    tokens: list[str]
    counts: list[int]


CHUNKS: Final = schema(Chunk)
Pack = Callable[[Iterable[Any]], Iterable[Message]]
"""Return the messages of some rows; it runs in Spark's tasks."""


def spool(rows: DataFrame, pack: Pack, folder: str) -> int:
    """Write the messages of all rows to the spool, and return the number of their events.

    The folder must be a new one.
    """
    spark = rows.sparkSession
    events = spark.sparkContext.accumulator(0)
    # Rows become messages and messages chunks in one task, so that only rows enter Python, and only
    # chunks leave it.
    chunks = rows.rdd.mapPartitionsWithIndex(partial(_split_rows, pack, events))
    # `verifySchema` would look at every row again.
    frame = spark.createDataFrame(chunks, CHUNKS, verifySchema=False)
    frame.write.options(**_LARGE_ROWS).parquet(f"{folder}/chunks")
    return int(events.value)  # once for each part, as those of the tasks that ended well count


def _split_rows(
    pack: Pack, events: Accumulator[int], part: int, rows: Iterable[Any]
) -> Iterator[Chunk]:
    for chunk in split(part, pack(rows)):
        events.add(chunk.events)
        yield chunk


def split(part: int, messages: Iterable[Message]) -> Iterator[Chunk]:
    """Split messages into chunks, in order, by a call's limits and by destination.

    A message too large for any call gets a chunk of its own, which SQS refuses with a reason.
    """
    batch: list[Message] = []
    room = number = 0
    for message in messages:
        size = len(message.body.encode())
        same = batch and batch[0].to == message.to
        if batch and (not same or len(batch) == SQS_CALL_MESSAGES or size > room):
            yield _chunk(part, number, batch)
            batch, number = [], number + 1
        if not batch:
            room = MAX_BYTES
        batch.append(message)
        room -= size
    if batch:
        yield _chunk(part, number, batch)


def _chunk(part: int, number: int, batch: list[Message]) -> Chunk:
    bodies, counts, tokens, to = map(list, zip(*batch, strict=True))
    return Chunk(part, number, to[0], sum(counts), bodies, tokens, counts)
