"""A dead-letter queue as the commands read it."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from bucketcast.aws.clients import Aws
from bucketcast.delivery.depth import Depth
from bucketcast.deployment import Deployed
from bucketcast.destination import Destination, TopicArn
from bucketcast.dlq.aws import queues
from bucketcast.dlq.aws.queues import DeadQueue
from bucketcast.dlq.aws.reader import Reader, seconds_for
from bucketcast.dlq.command import records
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.repack import Plan, plan
from bucketcast.terminal.output import Output
from bucketcast.terminal.progress import progress

_BATCH: Final = 10


class Found(NamedTuple):
    """A chosen queue with its counts, and where it was found."""

    deployment: Deployed
    aws: Aws
    queue: DeadQueue
    every: Sequence[DeadQueue]
    depth: Depth


def now_ms() -> int:
    return round(time.time() * 1000)


def target_name(name: str, deployment: Deployed) -> str:
    """Return what a target is found by; a persistent topic has a target of its own.

    Raises:
        BucketcastError: there is no such topic, or it is not persistent.
    """
    named = Destination.of(name)
    return deployment.target(named).arn if isinstance(named, TopicArn) else name


def chosen_queue(out: Output, target: str) -> Found:
    deployment, aws = out.deployed()
    every, _ = queues.found(deployment, aws)
    queue = queues.chosen(target_name(target, deployment), every)
    return Found(deployment, aws, queue, every, queues.depth(queue.dead, aws))


def reader_of(found: Found, **how: Any) -> Reader:
    hide = how.pop("hide", None) or seconds_for(found.depth.all)
    return Reader(found.queue.dead, found.aws.sqs, expected=found.depth.visible, hide=hide, **how)


@contextmanager
def reported(out: Output, found: Found, what: str) -> Iterator[Callable[[int], None]]:
    """Yield the function that reports how many of a queue's messages are read."""
    with progress(out, what) as report:
        yield lambda seen: report(what, seen, max(found.depth.all, seen), "messages")


@contextmanager
def opened(
    out: Output, found: Found, what: str, rate: float | None = None
) -> Iterator[tuple[Reader, Callable[[int], None]]]:
    most = max(1, min(_BATCH, int(rate))) if rate else _BATCH
    hide = seconds_for(found.depth.all, rate or 250)
    threads = 8 if what in ("exporting", "counting") else 1
    with (
        reported(out, found, what) as report,
        reader_of(found, hide=hide, most=most, threads=threads) as reader,
    ):
        yield reader, report


def matching(
    reader: Reader, found: Found, wanted: Filter, report: Callable[[int], None] = lambda _: None
) -> Iterator[Plan]:
    for letters in reader.batches():
        for letter in letters:
            each = plan(letter, wanted, now_ms(), ingress=found.queue.ingress)
            if each:
                yield each
        report(reader.seen)


def missed(found: Found, reader: Reader) -> list[str]:
    """Return notes on what could not be read."""
    name, depth = found.queue.name, found.depth
    notes = []
    if reader.full:
        notes.append(
            f"{name}: only {reader.seen:,} of about {depth.all:,} messages were read, as many as "
            "SQS hides at once"
        )
    elif found.queue.in_order and reader.seen < depth.visible:
        notes.append(
            f"{name}: only {reader.seen:,} of about {depth.visible:,} messages were read: a FIFO "
            "queue shows what comes behind them when they are gone"
        )
    if depth.in_flight:
        notes.append(
            f"{name}: about {depth.in_flight:,} messages were in flight elsewhere and not read: "
            "another command reads them, or one was killed; try again in a minute"
        )
    return notes


def line_of(found: Found, each: Plan) -> bytes:
    return records.line(each, found.queue.name)
