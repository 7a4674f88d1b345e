"""`bucketcast reconcile`: a mirror beside its bucket."""

from collections.abc import Mapping
from typing import Any, Final

import click

from bucketcast import targets
from bucketcast.arn import Arn
from bucketcast.cli import running, words
from bucketcast.cli.screen import Screen, shared
from bucketcast.errors import BucketcastError
from bucketcast.options import options_of
from bucketcast.store import deployed
from bucketcast.store.access import Aws
from bucketcast.store.pipeline import Runs

DRIFT: Final = 1
_COLUMNS = ("PATH", "WHAT", "BUCKET", "TARGET")
_KINDS = ("missing", "stale", "extra")


class NoMirrorError(BucketcastError):
    """The target holds events, and no content that could be compared."""


@click.command()
@click.argument("bucket", type=words.bucket_name)
@click.option("--target", required=True, type=words.arn, metavar="ARN", help="The target.")
@running.options("reconcile", but=frozenset({"target", "mode"}))
@click.option(
    "--check/--repair",
    default=True,
    help="Only say what differs, or also send the events that mend it. [default: --check]",
)
@running.waiting
@shared
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    bucket: str,
    target: Arn,
    check: bool,
    no_wait: bool,
    **values: str,
) -> None:
    """Compare a target with format = namespace with the bucket: missing, stale, extra.

    With --check the exit code is 1 if anything differs. With --repair the events that mend it go
    the way of all events; check again when the target's queue is empty.

    \b
    Example:
      bucketcast reconcile uploads --target arn:minio:sqs::mirror:postgresql --repair
    """  # noqa: D301 - click reads the character
    screen: Screen = context.obj
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    runs = Runs(there, aws)
    mirror = running.deployed_target(there, target)
    _demand_mirror(mirror, aws)
    given = {"bucket": bucket, "target": mirror.arn, **values}
    given["mode"] = "check" if check else "repair"
    done = running.finish(screen, runs, "reconcile", given, no_wait=no_wait)
    if done.result is None:
        running.answer_started(screen, done)
        return
    _answer(screen, done, done.result)
    if check and done.result["drift"]:
        context.exit(DRIFT)


def _answer(screen: Screen, done: running.Finished, result: Mapping[str, Any]) -> None:
    rows = [
        (each["path"], each["what"], _shown(each["object"]), _shown(each["row"]))
        for each in result["differences"]
    ]
    document = {"run": done.run, "link": done.link, **result}
    same = f"{result['target']} is as {result['bucket']} is"
    screen.table(document, _COLUMNS, rows, same)
    if screen.json:
        return
    running.part(screen, len(rows), sum(result[kind] for kind in _KINDS), "differences")
    counts = ", ".join(f"{result[kind]:,} {kind}" for kind in _KINDS)
    screen.line(f"{result['rows']:,} rows: {counts}")
    if result["mode"] == "repair":
        screen.line(f"{result['sent']:,} events sent to mend it")
    if rows:
        screen.line(f"all differences: {result['report']}")
    running.notes(screen, result)


def _demand_mirror(target: deployed.DeployedTarget, aws: Aws) -> None:
    declared: Any = targets.load(target.kind).Settings
    known = options_of(declared).get("format")
    held = deployed.settings(target, aws).get("format") or (known.default if known else "")
    if held != "namespace":
        what = f"has format = {held}" if held else f"is of kind {target.kind}"
        raise NoMirrorError(
            f"{target.arn} {what}, and holds events: only a target with format = namespace can be "
            "compared with a bucket"
        )


def _shown(held: Mapping[str, Any] | None) -> str:
    return "" if held is None else f"{held['size']} bytes, {held['time']}"
