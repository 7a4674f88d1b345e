"""`bucketcast test`: send synthetic events through the whole deployment to one target."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import click

from bucketcast import deployment as deployed
from bucketcast.aws.clients import Aws, AwsError
from bucketcast.config.target import is_mirror
from bucketcast.delivery.policy import History
from bucketcast.delivery.queue import Outgoing, Queue
from bucketcast.delivery.tracing import Line
from bucketcast.deployment import Deployed, DeployedTarget
from bucketcast.destination import TargetArn
from bucketcast.diagnose import steps
from bucketcast.diagnose.aws import logs
from bucketcast.diagnose.command import trace
from bucketcast.diagnose.trial import Trial, make_event, summary
from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.shapes.aws import message
from bucketcast.state.breakers import Breakers
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared
from bucketcast.terminal.times import clock, moment

_COLUMNS = ("STEP", "AFTER", "TIME", "WHY")
_PUT, _DELETE = "s3:ObjectCreated:Put", "s3:ObjectRemoved:Delete"
_MOST = 10_000
_AT_ONCE = 8
_BATCH = 10
_PROGRESS_SECONDS = 5.0
_SKEW_MS = 60_000
PAUSE_SECONDS = 1.0


@click.command()
@click.argument("arn", metavar="TARGET", type=params.target)
@click.option("--count", type=click.IntRange(1, _MOST), default=1, show_default=True)
@params.period("--timeout", "60s", "How long to wait for the delivery.")
@shared
def command(out: Output, arn: TargetArn, count: int, timeout: float) -> int:
    """Send a synthetic event through ingress queue, ingest and dispatch to one target.

    No rule is needed and no other target gets it. Receivers recognise it: its principal, its rule
    and the beginning of its request id are "bucketcast-test". A target with format = namespace
    gets the deletion of a key that does not exist, which leaves no row. With --count it is a small
    load test. The exit code is 1 if not all events arrived within --timeout; those still waiting
    are delivered later.

    \b
    Example:
      bucketcast test webhook:primary
      bucketcast test webhook:primary --count 1000 --timeout 2m
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    target = deployment.target(arn)
    _require_reachable(target, deployment, aws)
    # A put would leave a row for an object that does not exist.
    name = _DELETE if is_mirror(target.kind, deployed.settings(target, aws)) else _PUT
    functions = [function for function in (deployment.ingest_function, target.function) if function]
    since = int(time.time() * 1000) - _SKEW_MS
    trial = Trial()
    _send([make_event(name) for _ in range(count)], target, deployment, trial, aws)
    _wait(
        out, lambda: logs.lines(logs.ANY, functions, since, aws), trial, time.monotonic() + timeout
    )
    return _report(out, target, trial, timeout)


def _require_reachable(target: DeployedTarget, deployment: Deployed, aws: Aws) -> None:
    """Refuse a test whose events would wait, or be dead-lettered."""
    if not target.enabled:
        raise BucketcastError(f"{target.name} is switched off: its events wait in its queue")
    outage = Breakers(deployment.state_table, lambda: aws.dynamodb).read().get(target.arn)
    if outage and outage.paused:
        raise BucketcastError(
            f"{target.name} is paused since {moment(outage.paused)}: its events wait in its queue; "
            f"`bucketcast target resume {target.name}` ends the pause"
        )


def _send(
    events: Sequence[Event], target: DeployedTarget, deployment: Deployed, trial: Trial, aws: Aws
) -> None:
    """Send all events to the ingress queue, addressed to the target."""
    queue = Queue(deployment.ingress_queue, aws.sqs)
    history = History(to=target.arn)

    def send(start: int) -> None:
        batch = events[start : start + _BATCH]
        trial.record_sent(batch, int(time.time() * 1000))
        refused = queue.send(
            [Outgoing(message(event).decode(), history=history) for event in batch]
        )
        if refused:
            raise AwsError(f"the ingress queue did not take an event: {min(refused.values())}")

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(send, range(0, len(events), _BATCH)))


def _wait(out: Output, lines: Callable[[], Iterable[Line]], trial: Trial, end: float) -> None:
    """Read the logs until each step of each event is known, or the time is over."""
    shown = time.monotonic()
    while True:
        try:
            for line in lines():
                trial.add_steps(steps.read_steps(line))
        except AwsError as error:
            if not error.silent:
                raise
            out.note(f"note: {error}; trying again", always=True)
        if trial.is_complete:  # ingest's lines may appear long after the target's
            return
        if time.monotonic() >= end:
            if not trial.pending:
                out.note("note: all have ended, but ingest's log does not show all of them yet")
            return
        if time.monotonic() >= shown + _PROGRESS_SECONDS and len(trial.sent) > 1:
            out.note(f"{len(trial.sent) - len(trial.pending):,} of {len(trial.sent):,} have ended")
            shown = time.monotonic()
        time.sleep(PAUSE_SECONDS)


def _report(out: Output, target: DeployedTarget, trial: Trial, timeout: float) -> int:
    figures = summary(trial)
    problem = trial.failure(target.function)
    if problem and trial.pending:
        number = f"{len(trial.pending):,} of {len(trial.sent):,}"
        problem = f"{number} not delivered within {timeout:g}s: {problem}"
    if out.json:
        events = [_document(trial, event) for event in trial.sent]
        failed = {"status": "error", "code": "failed", "error": problem} if problem else {}
        out.answer({"target": target.arn, **figures, "events": events, **failed})
        return int(bool(problem))
    if len(trial.sent) == 1:
        out.table({}, _COLUMNS, list(_rows(trial)), "no step is known")
    else:
        out.line(
            f"{figures['delivered']:,} of {figures['count']:,} delivered, "
            f"{figures['per_second']:,} per second; "
            f"p50 {figures['p50_ms']:,} ms, p99 {figures['p99_ms']:,} ms"
        )
    if problem:
        out.fail(f"{target.name}: {problem}")
    return int(bool(problem))


def _rows(trial: Trial) -> Iterator[tuple[str, str, str, str]]:
    for event, sent in trial.sent.items():
        yield "sent", "", clock(sent), ""
        for step in trace.ordered(trial.steps.get(event, ())):
            yield step.kind, f"{step.at - sent:,} ms", clock(step.at), step.reason


def _document(trial: Trial, event: str) -> Mapping[str, Any]:
    return {
        "event": event,
        "sent": clock(trial.sent[event]),
        "steps": [
            {
                "what": step.kind,
                "time": clock(step.at),
                "after_ms": step.at - trial.sent[event],
                "why": step.reason,
            }
            for step in trace.ordered(trial.steps.get(event, ()))
        ],
    }
