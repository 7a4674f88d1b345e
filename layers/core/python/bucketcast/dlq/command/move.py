"""`bucketcast dlq redrive` and `purge`, which take dead letters out of the queue."""

import time
from collections.abc import Callable
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import click

from bucketcast.destination import short_name
from bucketcast.dlq.aws import queues
from bucketcast.dlq.aws.queues import CLOCK_SECONDS, DeadQueue
from bucketcast.dlq.aws.reader import Reader
from bucketcast.dlq.aws.redrive import Mover, Result, sender
from bucketcast.dlq.backup import Backup
from bucketcast.dlq.command import records
from bucketcast.dlq.command.options import Chosen, chosen, filter_options, queue_name, to_filter
from bucketcast.dlq.command.queue import (
    Selection,
    matching_plans,
    open_reader,
    select_queue,
    target_name,
    unread_notes,
)
from bucketcast.dlq.command.read import group_document
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.repack import limit_events
from bucketcast.dlq.summary import Summary
from bucketcast.errors import BucketcastError
from bucketcast.limits import SQS_CALL_MESSAGES
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, counted, shared, yes_option


def _rate(text: str) -> float:
    rate = float(text)
    if not 0.1 <= rate <= 100_000:  # noqa: PLR2004 - `nan` is in no range
        raise ValueError
    return rate


_limit = click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="Events at the most."
)


@click.command()
@click.argument("target", metavar="TARGET", type=chosen)
@filter_options
@click.option(
    "--to", type=queue_name, metavar="TARGET", default="", help="Send to this target instead."
)
@click.option(
    "--rate", type=_rate, metavar="N", help="Events per second, on average: 0.1 to 100,000."
)
@_limit
@click.option("--dry-run", is_flag=True, help="Only count what would be sent.")
@shared
def redrive(
    out: Output,
    /,
    target: Chosen,
    *,
    to: str,
    rate: float | None,
    limit: int | None,
    dry_run: bool,
    **options: Any,
) -> int:
    """Send dead letters to their target again; each event has a full term of retries again.

    A letter is deleted after its events were sent. Interrupted, run the same command again: only
    what was in flight at that moment can arrive twice. Events that fail again return to the
    dead-letter queue; one run does not send them a second time.

    \b
    Examples:
      bucketcast dlq redrive webhook:primary --dry-run
      bucketcast dlq redrive webhook:primary/0b5c14ce6f --rate 200
      bucketcast dlq redrive Bucketcast-webhook-old-dead --to webhook:primary
      bucketcast dlq redrive ingress
    """  # noqa: D301 - click reads the character
    selection = select_queue(out, target.queue)
    destination = _destination(selection, to)
    wanted = to_filter(target, options)
    if dry_run:
        return _count(out, selection, wanted, destination, limit)
    # With a rate little is read at once: it is all sent at once, before the wait.
    slowly = {"at_once": ceil(min(rate, SQS_CALL_MESSAGES))} if rate else {}
    with open_reader(out, selection, "redriving", **slowly) as (reader, report):
        mover = _mover(selection, reader, wanted, report, most=limit)
        send = sender(mover, destination)
        ended = _run(partial(mover.run, send, rate))
    outcome = f"sent to {destination.title}"
    return _report(out, selection, mover, outcome, ended=ended)


@click.command()
@click.argument("target", metavar="TARGET", type=chosen)
@filter_options
@click.option(
    "--file",
    "path",
    required=True,
    type=params.FILE,
    help="New file for what is removed (NDJSON).",
)
@_limit
@yes_option("Do not ask.")
@shared
def purge(
    out: Output, /, target: Chosen, *, path: Path, limit: int | None, yes: bool, **options: Any
) -> int:
    """Remove dead letters for good, after writing them to a new file.

    \b
    Example:
      bucketcast dlq purge webhook:primary/0b5c14ce6f --file removed.ndjson
    """  # noqa: D301 - click reads the character
    selection = select_queue(out, target.queue)
    wanted = to_filter(target, options)
    if not yes:
        contents = f"about {counted(selection.depth.all, 'message')} in {selection.queue.title}"
        which = "those that match of" if wanted != Filter() else "all,"
        most = f"{counted(limit, 'event')} at the most of " if limit else ""
        out.confirm(f"Remove {most}{which} {contents}?")
    line = partial(records.line, target=selection.queue.name)
    with Backup(path, line) as file, open_reader(out, selection, "purging") as (reader, report):
        mover = _mover(selection, reader, wanted, report, most=limit, unreadable=True)
        ended = _run(partial(mover.run, file.add))
    outcome = f"removed; they are in {path}"
    return _report(out, selection, mover, outcome, ended=ended)


def _destination(selection: Selection, to: str) -> DeadQueue:
    """Return the queue whose own one letters are sent to.

    Raises:
        BucketcastError: nothing reads that queue.
        BucketcastError: there is no such topic, or it is not persistent.
    """
    queue = selection.queue
    if not to:
        if not queue.live:
            raise BucketcastError(
                f"the target of {queue.title} was removed: name another one with --to"
            )
        return queue
    if queue.ingress:
        raise BucketcastError(
            "--to is not allowed with ingress: rules choose the targets of its events"
        )
    other = queues.find(target_name(to, selection.deployment), selection.all_queues)
    if other.target is None or not other.live:
        raise BucketcastError(
            f"--to {short_name(to)} is not a deployed target; `bucketcast target ls` lists them"
        )
    return other


def _count(
    out: Output, selection: Selection, wanted: Filter, destination: DeadQueue, limit: int | None
) -> int:
    summary, problems = Summary(), 0
    with open_reader(out, selection, "counting") as (reader, report):
        for plan in matching_plans(reader, selection, wanted, report):
            if plan.problem:
                problems += plan.number
                continue
            allowed = limit_events(plan, limit - summary.events) if limit else plan
            summary.add(plan.letter, selection.queue.name, allowed.number)
            if limit and summary.events >= limit:
                break
    groups = list(summary.groups())
    document = {
        "dry_run": True,
        "to": destination.name,
        "events": summary.events,
        "unusable": problems,
        "reasons": [group_document(group) for group in groups],
    }
    lines = [f"{counted(group.events, 'event')}: {group.reason}" for group in groups]
    first = f"{counted(summary.events, 'event')} would be sent to {destination.title}"
    out.answer(document, first, *lines)
    unread = unread_notes(selection, reader)
    notes = [*unread]
    if problems:
        notes.append(f"{problems:,} would stay: `bucketcast dlq show` says why they are unusable")
    out.notes(notes)
    return 1 if unread else 0


def _mover(
    selection: Selection,
    reader: Reader,
    wanted: Filter,
    report: Callable[[], None],
    **options: Any,
) -> Mover:
    # What comes back from now on is not sent a second time.
    time.sleep(CLOCK_SECONDS)
    queue, sqs = selection.queue, selection.aws.sqs
    return Mover(reader, queue, sqs, wanted, progress=report, **options)


def _run(move: Callable[[], Result]) -> bool:
    """Move letters; return False if interrupted."""
    try:
        move()
    except KeyboardInterrupt:
        return False
    return True


def _report(out: Output, selection: Selection, mover: Mover, outcome: str, *, ended: bool) -> int:
    """Print the result of a run and return the exit code."""
    result, reader = mover.result, mover.reader
    failed = sum(result.failed.values())
    document = {
        "target": selection.queue.name,
        "events": result.moved,
        "messages": result.messages,
        "skipped": result.skipped,
        "arrived_later": reader.later,
        "unusable": dict(result.problems),
        "failed": dict(result.failed),
        "sent_but_not_deleted": result.repeatable,
        "interrupted": not ended,
        "reasons": dict(result.reasons),
    }
    notes = [
        f"{counted(number, 'event')} left: {reason}" for reason, number in result.problems.items()
    ]
    notes += [
        f"{counted(number, 'event')} left: SQS: {error}" for error, number in result.failed.items()
    ]
    if reader.later:
        notes.append(f"{counted(reader.later, 'message')} arrived after the start: left")
    if result.repeatable:
        notes.append(
            f"{counted(result.repeatable, 'message')} not deleted: what was taken may come twice"
        )
    again = "run the same command again for the rest"
    unread = unread_notes(selection, reader, f": {again}")
    notes += unread
    if not ended:
        notes.append(f"interrupted: {again}")
    out.answer(document, f"{counted(result.moved, 'event')} {outcome}")
    out.notes(notes)
    return 1 if unread or failed or result.repeatable or not ended else 0
