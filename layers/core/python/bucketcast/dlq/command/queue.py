"""A dead-letter queue as the commands read it."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from bucketcast.aws.clients import Aws, AwsError
from bucketcast.delivery.queue import Depth
from bucketcast.deployment import Deployed
from bucketcast.destination import Destination, TopicArn
from bucketcast.dlq.aws import queues
from bucketcast.dlq.aws.queues import DeadQueue
from bucketcast.dlq.aws.reader import HIDDEN_SECONDS, Reader
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.repack import Plan, make_plan
from bucketcast.terminal.output import Output, progress

_AT_ONCE: Final = 8


class Selection(NamedTuple):
    """A chosen queue as it was when the command `began`, among all queues of its deployment."""

    deployment: Deployed
    aws: Aws
    queue: DeadQueue
    all_queues: Sequence[DeadQueue]
    began: int
    depth: Depth


def target_name(name: str, deployment: Deployed) -> str:
    """Return the name by which to find a target: for a persistent topic, its own target's ARN.

    Raises:
        BucketcastError: there is no such topic, or it is not persistent.
    """
    destination = Destination.of(name)
    return deployment.target(destination).arn if isinstance(destination, TopicArn) else name


def select_queue(out: Output, target: str) -> Selection:
    """Return the queue of a target.

    Raises:
        BucketcastError: there is no such target.
        AwsError: AWS cannot be reached.
    """
    (selection,), _ = select_queues(out, target)
    return selection


def select_queues(out: Output, target: str | None) -> tuple[list[Selection], list[str]]:
    """Return the queue of a target, or for None all that can be read, and notes on the others.

    Raises:
        BucketcastError: there is no such target.
        AwsError: AWS cannot be reached.
    """
    deployment, aws = out.deployed()
    all_queues, problem = queues.list_queues(deployment, aws)
    notes = [problem] if problem else []
    chosen: Sequence[DeadQueue] = all_queues
    if target is not None:
        chosen = [queues.find(target_name(target, deployment), all_queues)]

    def select(queue: DeadQueue) -> Selection | None:
        try:
            began, depth = queues.snapshot(queue.dead, aws)
        except AwsError as error:
            if target is not None:
                raise
            notes.append(f"{queue.title}: not read: {error}")  # the other queues can be
            return None
        return Selection(deployment, aws, queue, all_queues, began, depth)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return [*filter(None, pool.map(select, chosen))], notes


def make_reader(selection: Selection, **options: Any) -> Reader:
    return Reader(
        selection.queue.dead,
        selection.aws.sqs,
        began=selection.began,
        expected=selection.depth.visible,
        **options,
    )


@contextmanager
def open_reader(
    out: Output, selection: Selection, activity: str, **options: Any
) -> Iterator[tuple[Reader, Callable[[], None]]]:
    """Yield a reader, and the function that reports how many messages it has read."""
    stage = f"{activity} {selection.queue.title}"
    report = progress(out, stage)
    with make_reader(selection, **options) as reader:
        yield (
            reader,
            lambda: report(stage, reader.seen, max(selection.depth.all, reader.seen), "messages"),
        )


def matching_plans(
    reader: Reader,
    selection: Selection,
    wanted: Filter,
    report: Callable[[], None] = lambda: None,
) -> Iterator[Plan]:
    for letters in reader.batches():
        for letter in letters:
            plan = make_plan(letter, wanted, ingress=selection.queue.ingress)
            if plan:
                yield plan
        report()


def unread_notes(selection: Selection, reader: Reader, hint: str = "") -> list[str]:
    """Return notes on what was not read, with a hint how it would be; none if it was stopped."""
    name, depth = selection.queue.title, selection.depth
    notes: list[str] = []
    if not reader.ended:
        return notes
    if reader.unread:
        if selection.queue.in_order:
            hint = ": a FIFO queue shows what comes behind them when they are gone"
        notes.append(
            f"{name}: only {reader.seen:,} of about {depth.visible:,} messages were read{hint}"
        )
    if left := min(depth.in_flight, depth.all - reader.seen):
        notes.append(
            f"{name}: about {left:,} messages were in flight elsewhere and not read: "
            "another command reads them, or one was killed: then they are visible again after as "
            f"long as it ran at the most, or {HIDDEN_SECONDS} seconds"
        )
    return notes
