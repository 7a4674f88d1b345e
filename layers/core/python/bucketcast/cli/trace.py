"""`bucketcast trace`: show where an object's events went."""

import time
from collections.abc import Collection, Iterable
from typing import Any

import click

from bucketcast.aws import logs
from bucketcast.cli import params
from bucketcast.cli.output import Output, shared
from bucketcast.delivery import steps, tracing
from bucketcast.delivery.steps import QUEUED, Step
from bucketcast.topics.model import is_topic

_COLUMNS = ("TIME", "EVENT OF", "WHAT", "TARGET", "WHY")
_NOT_DEPLOYED = "not deployed"
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
    known = {target.arn for target in (*deployment.targets, *deployment.resting)}
    read = (step for each in found for step in steps.of(each.at, each.line, trace_id))
    story = _sorted(_checked(step, known) for step in read)
    document = {"bucket": bucket, "key": key, "steps": [_document(step) for step in story]}
    rows = [(steps.clock(step.at), _time(step), step.what, step.target, step.why) for step in story]
    out.table(document, _COLUMNS, rows, _NOTHING)


def _checked(step: Step, known: Collection[str]) -> Step:
    """Return the step, or that its target is not deployed and the event was dropped."""
    if step.what != QUEUED or step.target in known or is_topic(step.target):
        return step
    return step._replace(what=_NOT_DEPLOYED, why=f"{step.why}; the event was dropped")


def _sorted(story: Iterable[Step]) -> list[Step]:
    """Sort steps by event and stage: a quick target may log before ingest does."""
    known = list(story)
    began: dict[str, int] = {}
    for step in known:
        began[step.event] = min(step.at, began.get(step.event, step.at))
    return sorted(known, key=lambda step: (began[step.event], step.event, _stage(step), step))


def _stage(step: Step) -> int:
    return steps.stage(QUEUED if step.what == _NOT_DEPLOYED else step.what)


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
