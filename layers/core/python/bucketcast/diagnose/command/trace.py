"""`bucketcast trace`: show where an object's events went."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

import click

from bucketcast.delivery import tracing
from bucketcast.diagnose import steps
from bucketcast.diagnose.aws import logs
from bucketcast.diagnose.steps import NOT_DEPLOYED, QUEUED, Step, stage
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared

_COLUMNS = ("TIME", "EVENT OF", "WHAT", "TARGET", "WHY")
_NOTHING = (
    "no log entries found: no event was received, or the logs are not available yet "
    "(CloudWatch takes a few seconds)"
)


@click.command()
@click.argument("uri", metavar="s3://BUCKET/KEY")
@params.period("--since", "1h", "How far back to look, such as 30m, 2h or 24h.")
@shared
def command(out: Output, *, uri: str, since: float) -> None:
    """Show where an object's events went: received, queued, retried, delivered or dead.

    "not deployed": the target or topic did not exist or had no endpoint; the event was dropped.
    The steps are read from the functions' logs. EVENT OF is the event's time, which identifies it;
    WHY is the target's own error.

    \b
    Example:
      bucketcast trace s3://uploads/photos/cat.jpg --since 2h
    """  # noqa: D301 - click reads the character
    bucket, key = params.object_uri(uri)
    deployment, aws = out.deployed()
    trace_id = tracing.of_object(bucket, key)
    made = (target.function for target in (*deployment.targets, *deployment.resting))
    functions = dict.fromkeys([deployment.ingest_function, *filter(None, made)])
    start = int((time.time() - since) * 1000)
    found = logs.lines(trace_id, functions, start, aws)
    story = _story(step for each in found for step in steps.of(each.at, each.line, trace_id))
    document = {"bucket": bucket, "key": key, "steps": [_document(step) for step in story]}
    rows = [(steps.clock(step.at), _time(step), step.what, step.target, step.why) for step in story]
    out.table(document, _COLUMNS, rows, _NOTHING)


def _story(read: Iterable[Step]) -> list[Step]:
    """Sort steps by event and stage: a quick target may log before ingest does."""
    known = _without_dropped(list(read))
    began: dict[str, int] = {}
    for step in known:
        began[step.event] = min(step.at, began.get(step.event, step.at))
    return sorted(known, key=lambda step: (began[step.event], step.event, stage(step.what), step))


def _without_dropped(known: Sequence[Step]) -> list[Step]:
    """Replace queued steps of events that ingest then dropped, since there is no such target."""
    dropped = {(step.event, step.target) for step in known if step.what == NOT_DEPLOYED}
    queued = {(step.event, step.target) for step in known if step.what == QUEUED}
    return [
        step._replace(what=NOT_DEPLOYED, why=f"{step.why}; the event was dropped")
        if step.what == QUEUED and (step.event, step.target) in dropped
        else step
        for step in known
        if step.what != NOT_DEPLOYED or (step.event, step.target) not in queued
    ]


def _time(step: Step) -> str:
    """Return the time of day that identifies an event of the object."""
    return step.event.partition("@")[2]


def _document(step: Step) -> dict[str, Any]:
    return {
        "time": steps.clock(step.at),
        "event": _time(step),
        "what": step.what,
        "target": step.target,
        "rule": step.rule,
        "why": step.why,
    }
