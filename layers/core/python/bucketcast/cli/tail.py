"""`bucketcast tail`: show events and what becomes of them, live."""

import json
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from bucketcast.arn import Arn
from bucketcast.aws import logs
from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.aws.deployed import Deployed
from bucketcast.aws.rules import Rules
from bucketcast.cli import params
from bucketcast.cli.output import Output, shared
from bucketcast.delivery import steps, tracing
from bucketcast.delivery.steps import RECEIVED, Step, Stream

PAUSE_SECONDS = 2.0
EARLIER_MS = 3_600_000
"""Events that came so long before may still be tried: their buckets are read first."""


@click.command()
@click.argument("bucket", required=False, default="", type=lambda text: text and _bucket(text))
@click.option("--target", type=params.target_arn, metavar="ARN", help="Only this target.")
@params.period("--since", "1m", "Begin so long ago, such as 5m or 1h.")
@shared
def command(out: Output, *, bucket: str, target: Arn | None, since: float) -> None:
    """Show what happens to events until interrupted: queued, delivered, retried or dead.

    One line per event, target and result, read from the functions' logs, where lines appear after
    some seconds. They hold no keys: `bucketcast trace s3://BUCKET/KEY` shows one object. With
    --json each line is a JSON document.

    \b
    Example:
      bucketcast tail uploads --target webhook:primary --since 5m
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    wanted = deployment.target(target).arn if target else ""
    begin = int((time.time() - since) * 1000)
    follower = logs.Follower(_functions(deployment), begin, aws)
    names = _names(bucket, deployment, aws)
    stream = Stream(tracing.of_bucket(bucket) if bucket else "", wanted)
    if bucket:
        earlier = logs.Follower([deployment.ingest_function], begin - EARLIER_MS, aws)
        stream.learn(step for at, line in earlier.poll() for step in steps.of(at, line))
    with _until_interrupted():
        while True:
            for step in _new(out, follower, stream):
                _show(out, step._replace(bucket=names.get(step.bucket, step.bucket)))
            time.sleep(PAUSE_SECONDS)


@contextmanager
def _until_interrupted() -> Iterator[None]:
    """End with SIGINT, which a script's background commands ignore by default, or SIGTERM."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {each: signal.signal(each, signal.default_int_handler) for each in signals}
    try:
        yield
    except KeyboardInterrupt:
        return
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _bucket(text: str) -> str:
    return params.bucket_name(text.removeprefix("s3://"))


def _functions(deployment: Deployed) -> list[str]:
    """Return the functions that write traces, also for run-time targets that are added later."""
    own = (each.function for each in (*deployment.targets, *deployment.resting))
    shared_ones = deployment.runtime.functions.values() if deployment.runtime else ()
    return list(dict.fromkeys(filter(None, (deployment.ingest_function, *own, *shared_ones))))


def _names(bucket: str, deployment: Deployed, aws: Aws) -> Mapping[str, str]:
    """Return the names of known buckets, by what stands for them in the logs."""
    with aws_errors():
        ruled = Rules(deployment.rules_table, aws.dynamodb).buckets()
    known = filter(None, (bucket, *deployment.buckets, *ruled))
    return {tracing.of_bucket(name): name for name in known}


def _new(out: Output, follower: logs.Follower, stream: Stream) -> list[Step]:
    found: list[Step] = []
    try:
        for at, line in follower.poll():
            found += steps.of(at, line)
    except AwsError as error:
        if not error.silent:
            raise
        out.note(f"note: {error}; trying again", always=True)
    return stream(found, int(time.time() * 1000))


def _show(out: Output, step: Step) -> None:
    if out.json:
        click.echo(json.dumps(_document(step), ensure_ascii=False))
    elif step.what != RECEIVED or step.why:  # else the next lines say where it went
        out.line(_line(step))


def _line(step: Step) -> str:
    cells = (steps.clock(step.at), f"{step.event:23}", f"{step.what:9}", step.bucket or "-")
    return "  ".join((*cells, *filter(None, (step.target, step.why))))


def _document(step: Step) -> Mapping[str, Any]:
    return {
        "time": steps.clock(step.at),
        "event": step.event,
        "what": step.what,
        "bucket": step.bucket,
        "target": step.target,
        "rule": step.rule,
        "why": step.why,
    }
