"""`bucketcast dlq ls`, `show` and `export`, which leave the queue unchanged."""

import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from bucketcast.aws.clients import AwsError, aws_errors
from bucketcast.destination import Destination
from bucketcast.diagnose.explain import offline_target
from bucketcast.dlq.aws import queues
from bucketcast.dlq.backup import Backup
from bucketcast.dlq.command import records
from bucketcast.dlq.command.options import filter_options, queue_name, to_filter
from bucketcast.dlq.command.queue import (
    Selection,
    first_note,
    make_reader,
    matching_plans,
    ndjson_line,
    now_ms,
    open_reader,
    report_progress,
    select_queue,
    target_name,
    unread_notes,
)
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.letter import count_events
from bucketcast.dlq.repack import make_plan
from bucketcast.dlq.summary import Group, Summary
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, counted, shared
from bucketcast.terminal.times import age, clock

COLUMNS: Final = ("TARGET", "EVENTS", "OLDEST", "NEWEST", "ERROR", "RULE", "EXAMPLE", "REASON")


@click.command()
@click.argument("target", metavar="[TARGET]", type=queue_name, default="")
@filter_options
@shared
def ls(out: Output, /, target: str, **options: Any) -> None:
    """Count dead letters by target, rule and reason, with their ages.

    Reasons that differ in numbers only are counted together. EXAMPLE is the id of one message, for
    `bucketcast dlq show`.

    \b
    Examples:
      bucketcast dlq ls
      bucketcast dlq ls webhook:primary --reason 422 --older-than 24h
    """  # noqa: D301 - click reads the character
    summary, notes = summarize(out, target, to_filter(options))
    groups = list(summary.groups())
    document = {
        "events": summary.events,
        "messages": summary.messages,
        "reasons": [group_document(group) for group in groups],
        "notes": notes,
    }
    out.table(document, COLUMNS, rows(groups), "no dead letters found")
    out.notes(notes)


def rows(groups: Iterable[Group]) -> list[tuple[str, ...]]:
    """Return the cells of the table of groups."""
    now = now_ms()
    return [
        (
            Destination.of(group.target).short,
            f"{group.events:,}",
            age(group.oldest, now),
            age(group.newest, now),
            group.error or "-",
            group.rule or "-",
            group.id,
            group.reason,
        )
        for group in groups
    ]


def summarize(
    out: Output, target: str, wanted: Filter, most: int | None = None
) -> tuple[Summary, list[str]]:
    """Count the dead letters of one target, or of all for ""; return notes on what was not read.

    Of each queue about `most` messages are read.

    Raises:
        BucketcastError: there is no such target.
        AwsError: AWS cannot be reached.
    """
    deployment, aws = out.deployed()
    all_queues, problem = queues.list_queues(deployment, aws)
    chosen = [queues.find(target_name(target, deployment), all_queues)] if target else all_queues
    summary, notes = Summary(), [problem] if problem else []
    for queue in chosen:
        try:
            depth = queues.depth(queue.dead, aws)
        except AwsError as error:
            if target:
                raise
            notes.append(f"{queue.name}: not read: {error}")  # the other queues can be
            continue
        if depth.all:
            with aws_errors():
                selection = Selection(deployment, aws, queue, all_queues, depth)
                notes += _count(out, selection, wanted, summary, most)
    return summary, notes


@click.command()
@click.argument("target", metavar="TARGET", type=queue_name)
@filter_options
@click.option(
    "--limit", type=click.IntRange(min=1), default=1, show_default=True, help="How many to show."
)
@shared
def show(out: Output, /, target: str, *, limit: int, **options: Any) -> None:
    """Show dead letters: event, reason, attempts, times, and the bytes that would be sent now.

    \b
    Examples:
      bucketcast dlq show webhook:primary --reason 422
      bucketcast dlq show webhook:primary --id 5fea7756-0ea4-451a-a703-a558b933e274
    """  # noqa: D301 - click reads the character
    entries = read_entries(out, target, to_filter(options), limit)
    lines = [line for entry in entries for line in (*records.lines(entry), "")]
    out.answer({"dead_letters": entries}, *lines[:-1])
    if not entries:
        out.note("no dead letters found")


def read_entries(out: Output, target: str, wanted: Filter, limit: int) -> list[dict[str, Any]]:
    """Return up to so many dead letters of a target, with the bytes that would be sent now.

    Raises:
        BucketcastError: there is no such target.
        AwsError: AWS cannot be reached.
    """
    selection = select_queue(out, target)
    plans = []
    with aws_errors(), make_reader(selection) as reader:
        for plan in matching_plans(reader, selection, wanted):
            plans.append(plan)
            if len(plans) == limit:
                break
    kind = None
    if selection.queue.target:
        kind = offline_target(
            Destination.of(selection.queue.name), selection.deployment, selection.aws
        )
    return [records.entry(plan, selection.queue.name, kind) for plan in plans]


@click.command()
@click.argument("target", metavar="TARGET", type=queue_name)
@filter_options
@click.option(
    "--file",
    "path",
    type=params.FILE,
    help="New file. [default: standard output]",
)
@shared
def export(out: Output, /, target: str, *, path: Path | None, **options: Any) -> None:
    """Write dead letters as NDJSON, a line per message, and leave them where they are.

    \b
    Examples:
      bucketcast dlq export webhook:primary | jq -r '.events[].key'
      bucketcast dlq export ingress --file ingress.ndjson
    """  # noqa: D301 - click reads the character
    if path is None and out.json:
        raise click.UsageError("--json needs --file: standard output is NDJSON without it")
    selection = select_queue(out, target)
    wanted, number = to_filter(options), 0
    with aws_errors(), open_reader(out, selection, "exporting") as (reader, report):
        if path is None:
            for plan in matching_plans(reader, selection, wanted, report):
                sys.stdout.write(ndjson_line(selection, plan).decode() + "\n")
        else:
            with Backup(path, partial(ndjson_line, selection)) as file:
                for plan in matching_plans(reader, selection, wanted, report):
                    file.add([plan])
                    number += 1
    out.notes(unread_notes(selection, reader))
    if path is not None:
        out.answer(
            {"messages": number, "file": str(path)}, f"{counted(number, 'message')} in {path}"
        )


def _count(
    out: Output, selection: Selection, wanted: Filter, summary: Summary, most: int | None
) -> list[str]:
    """Count a queue's letters; return notes on those that could not be read."""
    queue = selection.queue
    with (
        report_progress(out, selection, f"reading {queue.name}") as report,
        make_reader(selection) as reader,
    ):
        for letters in reader.batches():
            for letter in letters:
                if wanted.needs_events:
                    plan = make_plan(letter, wanted, now_ms(), ingress=queue.ingress)
                    number = plan.number if plan else 0
                else:
                    matches = wanted.matches(letter, now_ms())
                    number = count_events(letter) if matches else 0
                if number:
                    summary.add(letter, queue.name, number)
            report(reader.seen)
            if most and reader.seen >= most:
                return [first_note(selection, reader)]
    return unread_notes(selection, reader)


def group_document(group: Group) -> dict[str, Any]:
    return {
        "target": group.target,
        "rule": group.rule,
        "error": group.error,
        "reason": group.reason,
        "topic": group.topic,
        "moved_by": group.moved_by,
        "events": group.events,
        "messages": group.messages,
        "oldest": clock(group.oldest),
        "newest": clock(group.newest),
        "example": group.id,
    }
