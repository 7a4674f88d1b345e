"""A dead-letter queue as the commands read it."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from bucketcast.aws.clients import Aws
from bucketcast.delivery.queue import Depth
from bucketcast.deployment import Deployed
from bucketcast.destination import Destination, TopicArn
from bucketcast.dlq.aws import queues
from bucketcast.dlq.aws.queues import DeadQueue
from bucketcast.dlq.aws.reader import Reader, seconds_for
from bucketcast.dlq.command import records
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.repack import Plan, make_plan
from bucketcast.terminal.output import Output
from bucketcast.terminal.progress import progress

_BATCH: Final = 10


class Selection(NamedTuple):
    """A chosen queue with its counts, among all queues of its deployment."""

    deployment: Deployed
    aws: Aws
    queue: DeadQueue
    all_queues: Sequence[DeadQueue]
    depth: Depth


def now_ms() -> int:
    return round(time.time() * 1000)


def target_name(name: str, deployment: Deployed) -> str:
    """Return the name by which to find a target: for a persistent topic, its own target's ARN.

    Raises:
        BucketcastError: there is no such topic, or it is not persistent.
    """
    destination = Destination.of(name)
    return deployment.target(destination).arn if isinstance(destination, TopicArn) else name


def select_queue(out: Output, target: str) -> Selection:
    deployment, aws = out.deployed()
    all_queues, _ = queues.list_queues(deployment, aws)
    queue = queues.find(target_name(target, deployment), all_queues)
    return Selection(deployment, aws, queue, all_queues, queues.depth(queue.dead, aws))


def make_reader(selection: Selection, **options: Any) -> Reader:
    hide = options.pop("hide", None) or seconds_for(selection.depth.all)
    return Reader(
        selection.queue.dead,
        selection.aws.sqs,
        expected=selection.depth.visible,
        hide=hide,
        **options,
    )


@contextmanager
def report_progress(
    out: Output, selection: Selection, activity: str
) -> Iterator[Callable[[int], None]]:
    """Yield the function that reports the number of messages read so far."""
    with progress(out, activity) as report:
        yield lambda seen: report(activity, seen, max(selection.depth.all, seen), "messages")


@contextmanager
def open_reader(
    out: Output, selection: Selection, activity: str, rate: float | None = None
) -> Iterator[tuple[Reader, Callable[[int], None]]]:
    batch_size = max(1, min(_BATCH, int(rate))) if rate else _BATCH
    hide = seconds_for(selection.depth.all, rate or 250)
    threads = 8 if activity in ("exporting", "counting") else 1
    with (
        report_progress(out, selection, activity) as report,
        make_reader(selection, hide=hide, batch_size=batch_size, threads=threads) as reader,
    ):
        yield reader, report


def matching_plans(
    reader: Reader,
    selection: Selection,
    wanted: Filter,
    report: Callable[[int], None] = lambda _: None,
) -> Iterator[Plan]:
    for letters in reader.batches():
        for letter in letters:
            plan = make_plan(letter, wanted, now_ms(), ingress=selection.queue.ingress)
            if plan:
                yield plan
        report(reader.seen)


def unread_notes(selection: Selection, reader: Reader) -> list[str]:
    """Return notes on what could not be read."""
    name, depth = selection.queue.name, selection.depth
    notes = []
    if reader.full:
        notes.append(
            f"{name}: only {reader.seen:,} of about {depth.all:,} messages were read, as many as "
            "SQS hides at once"
        )
    elif selection.queue.in_order and reader.seen < depth.visible:
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


def first_note(selection: Selection, reader: Reader) -> str:
    """Return the note that no more was read on purpose."""
    return (
        f"{selection.queue.name}: only the first {reader.seen:,} of about "
        f"{selection.depth.all:,} messages were counted"
    )


def ndjson_line(selection: Selection, plan: Plan) -> bytes:
    return records.line(plan, selection.queue.name)
