"""`bucketcast dlq ls`, `show` and `export`, which leave the queue unchanged."""

import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import click

from bucketcast.aws.clients import aws_errors
from bucketcast.destination import Destination
from bucketcast.diagnose.explain import offline_target
from bucketcast.dlq.backup import Backup
from bucketcast.dlq.command import records
from bucketcast.dlq.command.options import Chosen, chosen, filter_options, to_filter
from bucketcast.dlq.command.queue import (
    Selection,
    make_reader,
    matching_plans,
    open_reader,
    select_queue,
    select_queues,
    unread_notes,
)
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.letter import Letter, count_events
from bucketcast.dlq.repack import Plan, make_plan
from bucketcast.dlq.summary import Group, Summary
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, counted, progress, shared
from bucketcast.terminal.times import age, clock

COLUMNS: Final = ("GROUP", "EVENTS", "OLDEST", "NEWEST", "ERROR", "RULE", "REASON")
SECONDS: Final = 1.0
"""So long `ls` reads."""
LETTER_COLUMNS: Final = ("ID", "DEAD AT", "EVENT", "OBJECT", "REASON")


@click.command()
@click.argument("target", metavar="[TARGET]", type=chosen, default="")
@filter_options
@click.option("--all", "everything", is_flag=True, help="Count all, however long that takes.")
@shared
def ls(out: Output, /, target: Chosen, *, everything: bool, **options: Any) -> None:
    """Count dead letters by group: those of one target, rule and reason, with their ages.

    Lone numbers in the text of an answer may differ within a group. Every command takes the name of
    a group where it takes a target. What is read in a second is counted, and what arrives meanwhile
    is left out.

    \b
    Examples:
      bucketcast dlq ls
      bucketcast dlq ls webhook:primary --reason 422
    """  # noqa: D301 - click reads the character
    selections, notes = select_queues(out, target.queue or None)
    with ExitStack() as readers:
        # They make the letters visible again once all is printed.
        summary = Summary()
        seconds = None if everything else SECONDS
        wanted = to_filter(target, options)
        notes += count(out, readers, selections, wanted, summary, seconds)
        groups = list(summary.groups())
        document = {
            "events": summary.events,
            "messages": summary.messages,
            "total": sum(selection.depth.all for selection in selections),
            "reasons": [group_document(group) for group in groups],
            "notes": notes,
        }
        out.table(document, COLUMNS, rows(groups), "no dead letters found")
        out.notes(notes)


def rows(groups: Iterable[Group]) -> list[tuple[str, ...]]:
    """Return the cells of the table of groups."""
    now = round(time.time() * 1_000)
    return [
        (
            group.name,
            f"{group.events:,}",
            age(group.oldest, now),
            age(group.newest, now),
            group.error or "-",
            group.rule or "-",
            group.reason,
        )
        for group in groups
    ]


@click.command()
@click.argument("target", metavar="TARGET", type=chosen)
@filter_options
@click.option(
    "--limit", type=click.IntRange(min=1), help="How many to show.  [default: 1, or all of the ids]"
)
@shared
def show(out: Output, /, target: Chosen, *, limit: int | None, **options: Any) -> None:
    """Show dead letters: event, reason, attempts, times, and the bytes that would be sent now.

    \b
    Examples:
      bucketcast dlq show webhook:primary/0b5c14ce6f
      bucketcast dlq show webhook:primary --id 5fea7756-0ea4-451a-a703-a558b933e274
    """  # noqa: D301 - click reads the character
    selection, wanted = select_queue(out, target.queue), to_filter(target, options)
    if limit is None and not wanted.ids:
        limit = 1
    plans: list[Plan] = []
    with make_reader(selection) as reader:
        for plan in matching_plans(reader, selection, wanted):
            plans.append(plan)
            # An id of an event may be that of several letters: a copy for each rule.
            if len(plans) == limit or {*wanted.ids} == {each.letter.id for each in plans}:
                break
    queue, kind = selection.queue, None
    if queue.target:
        kind = offline_target(Destination.of(queue.name), selection.deployment, selection.aws)
    entries = [records.entry(plan, queue.name, kind) for plan in plans]
    lines = [line for entry in entries for line in (*records.lines(entry), "")]
    out.answer({"dead_letters": entries}, *lines[:-1])
    if not entries:
        out.note("no dead letters found")
    out.notes(unread_notes(selection, reader))


def letter_rows(
    out: Output, target: str, wanted: Filter
) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return a row for each letter that is read in a second, and notes on those that are not.

    Raises:
        BucketcastError: there is no such target.
        AwsError: AWS cannot be reached.
    """
    selection = select_queue(out, target)
    found = []
    with aws_errors(), make_reader(selection, seconds=SECONDS) as reader:
        for plan in matching_plans(reader, selection, wanted):
            events = [delivery.event for delivery in plan.chosen] or plan.content.events
            name, object_ = "-", counted(plan.number, "event")
            if len(events) == 1:
                name, object_ = events[0].name, f"s3://{events[0].bucket}/{events[0].key}"
            letter = plan.letter
            found.append((letter.id, clock(letter.sent), name, object_, letter.reason))
    return sorted(found, key=itemgetter(1)), unread_notes(selection, reader)


@click.command()
@click.argument("target", metavar="TARGET", type=chosen)
@filter_options
@click.option(
    "--file",
    "path",
    type=params.FILE,
    help="New file. [default: standard output]",
)
@shared
def export(out: Output, /, target: Chosen, *, path: Path | None, **options: Any) -> int:
    """Write dead letters as NDJSON, a line per message, and leave them where they are.

    \b
    Examples:
      bucketcast dlq export webhook:primary | jq -r '.events[].key'
      bucketcast dlq export ingress --file ingress.ndjson
    """  # noqa: D301 - click reads the character
    if path is None and out.json:
        raise click.UsageError("--json needs --file: standard output is NDJSON without it")
    selection = select_queue(out, target.queue)
    wanted, number = to_filter(target, options), 0
    line = partial(records.line, target=selection.queue.name)
    with open_reader(out, selection, "exporting") as (reader, report):
        if path is None:
            for plan in matching_plans(reader, selection, wanted, report):
                sys.stdout.write(line(plan).decode() + "\n")
        else:
            with Backup(path, line) as file:
                for plan in matching_plans(reader, selection, wanted, report):
                    file.add([plan])
                    number += 1
    notes = unread_notes(selection, reader)
    out.notes(notes)
    if path is not None:
        out.answer(
            {"messages": number, "file": str(path)}, f"{counted(number, 'message')} in {path}"
        )
    return 1 if notes else 0


def count(
    out: Output,
    readers: ExitStack,
    selections: Sequence[Selection],
    wanted: Filter,
    summary: Summary,
    seconds: float | None,
) -> list[str]:
    """Count the letters of queues within so many seconds; return notes on those not counted.

    The `readers` hide what they have read until they are closed.

    Raises:
        AwsError: AWS cannot be reached.
    """
    notes: list[str] = []
    total, done = sum(selection.depth.all for selection in selections), 0
    waiting = [selection for selection in selections if selection.depth.all]
    ends_at = time.monotonic() + (seconds or 0)
    report = progress(out, "reading")
    with aws_errors():
        for index, selection in enumerate(waiting):
            left = max(0.0, ends_at - time.monotonic()) / (len(waiting) - index)
            reader = readers.enter_context(
                make_reader(selection, seconds=None if seconds is None else left)
            )
            for letters in reader.batches():
                for letter in letters:
                    if number := _number(letter, wanted, ingress=selection.queue.ingress):
                        summary.add(letter, selection.queue.name, number)
                report("reading", done + reader.seen, total, "messages")
            done += reader.seen
            hint = "" if seconds is None else "; `--all` counts them all"
            notes += unread_notes(selection, reader, hint)
    return notes


def _number(letter: Letter, wanted: Filter, *, ingress: bool) -> int:
    """Return how many events of a letter match."""
    if not wanted.needs_events:
        return count_events(letter) if wanted.matches(letter) else 0
    plan = make_plan(letter, wanted, ingress=ingress)
    return plan.number if plan else 0


def group_document(group: Group) -> dict[str, Any]:
    return {**asdict(group), "oldest": clock(group.oldest), "newest": clock(group.newest)}
