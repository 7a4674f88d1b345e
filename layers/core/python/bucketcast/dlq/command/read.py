"""`bucketcast dlq ls`, `show` and `export`: they leave the queue as it is."""

import sys
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from bucketcast.aws.clients import AwsError, aws_errors
from bucketcast.destination import Destination
from bucketcast.diagnose.explain import unconnected
from bucketcast.dlq.aws import queues
from bucketcast.dlq.backup import Backup
from bucketcast.dlq.command import records
from bucketcast.dlq.command.options import filter_of, filtered
from bucketcast.dlq.command.queue import (
    Found,
    chosen_queue,
    line_of,
    matching,
    missed,
    now_ms,
    opened,
    reader_of,
    reported,
    target_name,
)
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.letter import count
from bucketcast.dlq.repack import plan
from bucketcast.dlq.summary import Group, Summary
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, counted, shared
from bucketcast.terminal.times import age, clock

_COLUMNS: Final = ("TARGET", "EVENTS", "OLDEST", "NEWEST", "ERROR", "RULE", "REASON", "EXAMPLE")


@click.command()
@click.argument("target", metavar="[TARGET]", default="")
@filtered
@shared
def ls(out: Output, /, target: str, **given: Any) -> None:
    """Count dead letters by target, rule and reason, with their ages.

    Reasons that differ in numbers only are counted together. EXAMPLE is the id of one message, for
    `bucketcast dlq show`.

    \b
    Examples:
      bucketcast dlq ls
      bucketcast dlq ls webhook:primary --reason 422 --older-than 24h
    """  # noqa: D301 - click reads the character
    wanted = filter_of(given)
    deployment, aws = out.deployed()
    every, why = queues.found(deployment, aws)
    chosen = [queues.chosen(target_name(target, deployment), every)] if target else every
    summary, notes = Summary(), [why] if why else []
    for each in chosen:
        try:
            depth = queues.depth(each.dead, aws)
        except AwsError as error:
            if target:
                raise
            notes.append(f"{each.name}: not read: {error}")  # the other queues can be
            continue
        if depth.all:
            with aws_errors():
                found = Found(deployment, aws, each, every, depth)
                notes += _counted(out, found, wanted, summary)
    groups = list(summary.groups())
    now = now_ms()
    document = {
        "events": summary.events,
        "messages": summary.messages,
        "reasons": [group_document(each) for each in groups],
        "notes": notes,
    }
    rows = [
        (
            each.target,
            f"{each.events:,}",
            age(each.oldest, now),
            age(each.newest, now),
            each.error or "-",
            each.rule or "-",
            each.reason,
            each.id,
        )
        for each in groups
    ]
    out.table(document, _COLUMNS, rows, "no dead letters found")
    out.notes(notes)


@click.command()
@click.argument("target", metavar="TARGET")
@filtered
@click.option(
    "--limit", type=click.IntRange(min=1), default=1, show_default=True, help="How many to show."
)
@shared
def show(out: Output, /, target: str, *, limit: int, **given: Any) -> None:
    """Show dead letters: event, reason, attempts, times, and the bytes that would be sent now.

    \b
    Examples:
      bucketcast dlq show webhook:primary --reason 422
      bucketcast dlq show webhook:primary --id 5fea7756-0ea4-451a-a703-a558b933e274
    """  # noqa: D301 - click reads the character
    found = chosen_queue(out, target)
    plans = []
    with aws_errors(), reader_of(found) as reader:
        for each in matching(reader, found, filter_of(given)):
            plans.append(each)
            if len(plans) == limit:
                break
    kind = None
    if found.queue.target:
        kind = unconnected(Destination.of(found.queue.name), found.deployment, found.aws)
    entries = [records.shown(each, found.queue.name, kind) for each in plans]
    text = [line for each in entries for line in (*records.lines(each), "")]
    out.answer({"dead_letters": entries}, *text[:-1])
    if not plans:
        out.note("no dead letters found")


@click.command()
@click.argument("target", metavar="TARGET")
@filtered
@click.option(
    "--file",
    "path",
    type=params.FILE,
    help="New file. [default: standard output]",
)
@shared
def export(out: Output, /, target: str, *, path: Path | None, **given: Any) -> None:
    """Write dead letters as NDJSON, a line per message, and leave them where they are.

    \b
    Examples:
      bucketcast dlq export webhook:primary | jq -r '.events[].key'
      bucketcast dlq export ingress --file ingress.ndjson
    """  # noqa: D301 - click reads the character
    if path is None and out.json:
        raise click.UsageError("--json needs --file: standard output is NDJSON without it")
    found = chosen_queue(out, target)
    wanted, number = filter_of(given), 0
    with aws_errors(), opened(out, found, "exporting") as (reader, report):
        if path is None:
            for each in matching(reader, found, wanted, report):
                sys.stdout.write(line_of(found, each).decode() + "\n")
        else:
            with Backup(path, partial(line_of, found)) as file:
                for each in matching(reader, found, wanted, report):
                    file.add([each])
                    number += 1
    out.notes(missed(found, reader))
    if path is not None:
        out.answer(
            {"messages": number, "file": str(path)}, f"{counted(number, 'message')} in {path}"
        )


def _counted(out: Output, found: Found, wanted: Filter, summary: Summary) -> list[str]:
    """Count a queue's letters and return the notes about it."""
    queue = found.queue
    with reported(out, found, f"reading {queue.name}") as report, reader_of(found) as reader:
        for letters in reader.batches():
            for letter in letters:
                if wanted.of_events:
                    chosen = plan(letter, wanted, now_ms(), ingress=queue.ingress)
                    number = chosen.number if chosen else 0
                else:
                    matches = wanted.letter(letter, now_ms())
                    number = count(letter) if matches else 0
                if number:
                    summary.add(letter, queue.name, number)
            report(reader.seen)
    return missed(found, reader)


def group_document(each: Group) -> dict[str, Any]:
    return {
        "target": each.target,
        "rule": each.rule,
        "error": each.error,
        "reason": each.reason,
        "topic": each.topic,
        "moved_by": each.moved_by,
        "events": each.events,
        "messages": each.messages,
        "oldest": clock(each.oldest),
        "newest": clock(each.newest),
        "example": each.id,
    }
