"""`bucketcast trace`: where an object's events went."""

import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import click

from bucketcast import tracing
from bucketcast.cli import words
from bucketcast.cli.screen import Screen, shared
from bucketcast.store import deployed, logs

_COLUMNS = ("TIME", "EVENT OF", "WHAT", "TARGET", "WHY")
_STAGES = {"received": 0, "sent": 1}
_NOTHING = (
    "nothing was logged about it: no event of it was received, or the logs are not there yet "
    "(CloudWatch takes some seconds)"
)


class Step(NamedTuple):
    """One thing that happened to an event, which is known by its time of day."""

    at: int
    event: str
    what: str
    target: str = ""
    rule: str = ""
    why: str = ""


@click.command()
@click.argument("uri", metavar="s3://BUCKET/KEY")
@click.option(
    "--since",
    type=words.since,
    default="1h",
    show_default=True,
    metavar="DURATION",
    help="How far back to look, such as 30m, 2h or 24h.",
)
@shared
@click.pass_obj
def command(screen: Screen, *, uri: str, since: float) -> None:
    """Show where an object's events went: received, rules, each attempt, delivered or dead.

    It is read from the functions' logs. An event is known by its time of day, as S3 gave it.
    Reasons are those that the target gave.

    \b
    Example:
      bucketcast trace s3://uploads/photos/cat.jpg --since 2h
    """  # noqa: D301 - click reads the character
    bucket, key = words.object_uri(uri)
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    mark = tracing.of_object(bucket, key)
    made = (target.function for target in (*there.targets, *there.resting))
    functions = dict.fromkeys([there.ingest_function, *filter(None, made)])
    start = int((time.time() - since) * 1000)
    found = logs.about(mark, functions, start, aws)
    steps = _told(step for each in found for step in _steps(mark, each))
    document = {"bucket": bucket, "key": key, "steps": [_document(step) for step in steps]}
    rows = [(_clock(step.at), step.event, step.what, step.target, step.why) for step in steps]
    screen.table(document, _COLUMNS, rows, _NOTHING)


def _told(steps: Iterable[Step]) -> list[Step]:
    """Event after event, each from its beginning: a quick target is done before ingest logs."""
    known = list(steps)
    began: dict[str, int] = {}
    for step in known:
        began[step.event] = min(step.at, began.get(step.event, step.at))
    return sorted(
        known, key=lambda step: (began[step.event], step.event, _STAGES.get(step.what, 2), step)
    )


def _steps(mark: str, found: logs.Found) -> Iterator[Step]:
    at, line = found
    if isinstance(line, tracing.Received):
        yield from _received(mark, at, line)
        return
    for event in _of(mark, line.delivered):
        yield Step(at, event, "delivered", line.target)
    for what, by_reason in (("retried", line.retried), ("dead", line.dead)):
        for reason, marks in by_reason.items():
            for event in _of(mark, marks):
                yield Step(at, event, what, line.target, why=reason)


def _received(mark: str, at: int, line: tracing.Received) -> Iterator[Step]:
    for place, one in enumerate(line.marks.split()):
        if not one.startswith(mark):
            continue
        event = one.partition("@")[2]
        sent = [to.split(" ", 1) for to, places in line.to.items() if place in places]
        yield Step(at, event, "received", why="" if sent else "no rule asks for it")
        for target, rule in sent:
            yield Step(at, event, "sent", target, rule, f"by rule {rule}")


def _of(mark: str, marks: str) -> Iterable[str]:
    return (one.partition("@")[2] for one in marks.split() if one.startswith(mark))


def _clock(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")[:23] + "Z"


def _document(step: Step) -> dict[str, Any]:
    return {
        "time": _clock(step.at),
        "event": step.event,
        "what": step.what,
        "target": step.target,
        "rule": step.rule,
        "why": step.why,
    }
