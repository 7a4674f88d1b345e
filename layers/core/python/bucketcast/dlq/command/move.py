"""`bucketcast dlq redrive` and `purge`: they take dead letters out of the queue."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from bucketcast.aws.clients import aws_errors
from bucketcast.dlq.aws import queues
from bucketcast.dlq.aws.reader import Reader
from bucketcast.dlq.aws.redrive import Destination, Done, Mover, sender, server_time
from bucketcast.dlq.backup import Backup
from bucketcast.dlq.command.options import filter_of, filtered
from bucketcast.dlq.command.queue import (
    Found,
    chosen_queue,
    line_of,
    matching,
    missed,
    opened,
    target_name,
)
from bucketcast.dlq.command.read import group_document
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.rate_limit import RateLimit
from bucketcast.dlq.summary import Summary
from bucketcast.errors import BucketcastError
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, counted, shared


@click.command()
@click.argument("target", metavar="TARGET")
@filtered
@click.option("--to", metavar="TARGET", default="", help="Send to this target instead.")
@click.option(
    "--rate", type=click.FloatRange(min=0.1), metavar="N", help="Events per second at the most."
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Events at the most.")
@click.option("--dry-run", is_flag=True, help="Only count what would be sent.")
@shared
def redrive(
    out: Output,
    /,
    target: str,
    *,
    to: str,
    rate: float | None,
    limit: int | None,
    dry_run: bool,
    **given: Any,
) -> int:
    """Send dead letters to their target again; each event has a full term of retries again.

    A letter is deleted after its events were sent. Interrupted, run the same command again: only
    what was in flight at that moment can arrive twice. Events that fail again return to the
    dead-letter queue; one run does not send them a second time.

    \b
    Examples:
      bucketcast dlq redrive webhook:primary --dry-run
      bucketcast dlq redrive webhook:primary --reason 422 --rate 200
      bucketcast dlq redrive Bucketcast-webhook-old-dead --to webhook:primary
      bucketcast dlq redrive ingress
    """  # noqa: D301 - click reads the character
    found = chosen_queue(out, target)
    destination = _destination(found, to)
    wanted = filter_of(given)
    if dry_run:
        return _dry(out, found, wanted, destination)
    with aws_errors(), opened(out, found, "redriving", rate) as (reader, report):
        mover = _mover(found, reader, wanted, report, most=limit)
        send = sender(mover, destination)
        ended = _run(partial(mover.run, send, RateLimit(rate)))
    where = destination.arn or found.queue.name
    return _finished(out, found, mover.done, f"sent to {where}", ended=ended, full=reader.full)


@click.command()
@click.argument("target", metavar="TARGET")
@filtered
@click.option(
    "--file",
    "path",
    required=True,
    type=params.FILE,
    help="New file for what is removed (NDJSON).",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared
def purge(out: Output, /, target: str, *, path: Path, yes: bool, **given: Any) -> int:
    """Remove dead letters for good, after writing them to a new file.

    \b
    Example:
      bucketcast dlq purge webhook:primary --older-than 168h --file removed.ndjson
    """  # noqa: D301 - click reads the character
    found = chosen_queue(out, target)
    wanted = filter_of(given)
    if not yes:
        about = f"{counted(found.depth.all, 'message')} in {found.queue.name}"
        out.confirm(f"{about}; remove those that match?")
    line = partial(line_of, found)
    with (
        aws_errors(),
        Backup(path, line) as backup,
        opened(out, found, "purging") as (reader, report),
    ):
        mover = _mover(found, reader, wanted, report, unreadable=True)
        ended = _run(partial(mover.run, backup.add))
    said = f"removed; they are in {path}"
    return _finished(out, found, mover.done, said, ended=ended, full=reader.full)


def _destination(found: Found, to: str) -> Destination:
    """Return where letters go.

    Raises:
        BucketcastError: nobody would read them there.
        BucketcastError: there is no such topic, or it is not persistent.
    """
    queue = found.queue
    if not to:
        if not queue.live:
            raise BucketcastError(
                f"the target of {queue.name} was removed: name another one with --to"
            )
        return Destination(queue.own, queue.target.arn if queue.target else "")
    if queue.ingress:
        raise BucketcastError(
            "--to is not allowed with ingress: rules choose the targets of its events"
        )
    other = queues.chosen(target_name(to, found.deployment), found.every)
    if other.target is None or not other.live:
        raise BucketcastError(
            f"--to {to} is not a deployed target; `bucketcast target ls` lists them"
        )
    return Destination(other.own, other.target.arn, same_target=other.dead == queue.dead)


def _dry(out: Output, found: Found, wanted: Filter, destination: Destination) -> int:
    summary, problems = Summary(), 0
    with aws_errors(), opened(out, found, "counting") as (reader, report):
        for each in matching(reader, found, wanted, report):
            if each.problem:
                problems += each.number
            else:
                summary.add(each.letter, found.queue.name, each.number)
    groups = list(summary.groups())
    document = {
        "dry_run": True,
        "to": destination.arn or found.queue.name,
        "events": summary.events,
        "unusable": problems,
        "reasons": [group_document(each) for each in groups],
    }
    lines = [f"{counted(each.events, 'event')}: {each.reason}" for each in groups]
    where = document["to"]
    out.answer(document, f"{counted(summary.events, 'event')} would be sent to {where}", *lines)
    notes = missed(found, reader)
    if problems:
        notes.append(f"{problems:,} would stay: `bucketcast dlq show` says why they are unusable")
    out.notes(notes)
    return 0


def _mover(
    found: Found, reader: Reader, wanted: Filter, report: Callable[[int], None], **how: Any
) -> Mover:
    queue, sqs = found.queue, found.aws.sqs
    return Mover(
        reader,
        queue.dead,
        sqs,
        wanted,
        ingress=queue.ingress,
        began=server_time(queue.dead, sqs),
        progress=lambda _: report(reader.seen),
        **how,
    )


def _run(move: Callable[[], Done]) -> bool:
    """Move letters; return False if interrupted."""
    try:
        move()
    except KeyboardInterrupt:
        return False
    return True


def _finished(out: Output, found: Found, done: Done, what: str, *, ended: bool, full: bool) -> int:
    """Print what became of the letters and return the exit code."""
    failed = sum(done.failed.values())
    document = {
        "target": found.queue.name,
        "events": done.moved,
        "messages": done.messages,
        "skipped": done.skipped,
        "arrived_later": done.later,
        "unusable": dict(done.problems),
        "failed": dict(done.failed),
        "sent_but_not_deleted": done.repeatable,
        "interrupted": not ended,
        "reasons": dict(done.reasons),
    }
    notes = [f"{counted(number, 'event')} left: {why}" for why, number in done.problems.items()]
    notes += [f"{counted(number, 'event')} left: SQS: {why}" for why, number in done.failed.items()]
    if done.later:
        notes.append(f"{counted(done.later, 'message')} arrived after the start: left")
    if done.repeatable:
        notes.append(
            f"{counted(done.repeatable, 'message')} not deleted: what was taken may come twice"
        )
    if found.depth.in_flight:
        notes.append(f"about {counted(found.depth.in_flight, 'message')} in flight elsewhere: left")
    if full:
        notes.append("too many messages that do not match are hidden: run it again in some minutes")
    if not ended:
        notes.append("interrupted: run the same command again for the rest")
    out.answer(document, f"{counted(done.moved, 'event')} {what}")
    out.notes(notes)
    return 0 if ended and not failed and not done.repeatable else 1
