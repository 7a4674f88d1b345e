"""`bucketcast trace`: show where an object's events went."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

import click

from bucketcast.aws.clients import Aws
from bucketcast.deployment import Deployed
from bucketcast.destination import short_name
from bucketcast.diagnose import steps
from bucketcast.diagnose.aws import logs
from bucketcast.diagnose.steps import DROPPED, QUEUED, Step, rank
from bucketcast.event import object_id
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared
from bucketcast.terminal.times import clock

COLUMNS = ("TIME", "TARGET", "EVENT OF", "TRY", "STAGE", "RESULT", "NEXT TRY", "WHY")
_NOTHING = (
    "no log entries found: no event was received, or the logs are not available yet "
    "(CloudWatch takes a few seconds)"
)


@click.command()
@click.argument("uri", metavar="s3://BUCKET/KEY", type=params.object_uri)
@params.period("--since", "1h", "How far back to look, such as 30m, 2h or 24h.")
@shared
def command(out: Output, *, uri: tuple[str, str], since: float) -> None:
    """Show where an object's events went: received, queued, retried, delivered or dead.

    Events are dropped if their target or topic does not exist, or has no endpoint. The steps are
    read from the functions' logs. EVENT OF is the event's time, which identifies it; STAGE is how
    far a failed try came: connect, login, send or answer; WHY is the target's own error.

    \b
    Example:
      bucketcast trace s3://uploads/photos/cat.jpg --since 2h
    """  # noqa: D301 - click reads the character
    bucket, key = uri
    sorted_steps = read(bucket, key, since, *out.deployed())
    document = {"bucket": bucket, "key": key, "steps": [_document(step) for step in sorted_steps]}
    out.table(document, COLUMNS, rows(sorted_steps), _NOTHING)


def rows(steps: Iterable[Step]) -> list[tuple[str, ...]]:
    """Return the cells of the table of steps."""
    return [
        (
            clock(step.at),
            short_name(step.target),
            _time(step),
            str(step.number or ""),
            step.stage,
            step.kind,
            clock(_next(step))[11:19],
            step.reason,
        )
        for step in steps
    ]


def read(bucket: str, key: str, since: float, deployment: Deployed, aws: Aws) -> list[Step]:
    """Return the steps of an object's events in the last so many seconds, by time.

    Raises:
        AwsError: AWS cannot be reached.
    """
    trace_id = object_id(bucket, key)
    start = int((time.time() - since) * 1000)
    lines = logs.lines(trace_id, deployment.functions, start, aws)
    return ordered(step for line in lines for step in steps.read_steps(line, trace_id))


def ordered(steps: Iterable[Step]) -> list[Step]:
    """Sort steps by time, and those of one millisecond by stage."""
    kept = _without_dropped(list(steps))
    return sorted(kept, key=lambda step: (step.at, rank(step.kind), step))


def _without_dropped(known: Sequence[Step]) -> list[Step]:
    """Replace queued steps of events that ingest then dropped, since there is no such target."""
    dropped = {(step.event, step.target): step.reason for step in known if step.kind == DROPPED}
    queued = {(step.event, step.target) for step in known if step.kind == QUEUED}
    return [
        step._replace(kind=DROPPED, reason=f"{reason}, {step.reason}")
        if step.kind == QUEUED and (reason := dropped.get((step.event, step.target)))
        else step
        for step in known
        if step.kind != DROPPED or (step.event, step.target) not in queued
    ]


def _time(step: Step) -> str:
    """Return the time of day that identifies an event of the object."""
    return step.event.partition("@")[2]


def _next(step: Step) -> int:
    """Return when the event is tried again, in Unix ms, 0 if it is not."""
    return step.at + step.pause * 1_000 if step.pause else 0


def _document(step: Step) -> dict[str, Any]:
    return {
        "time": clock(step.at),
        "event": _time(step),
        "what": step.kind,
        "try": step.number or None,
        "stage": step.stage or None,
        "next_try": clock(_next(step)) or None,
        "target": step.target,
        "rule": step.rule,
        "why": step.reason,
    }
