"""`bucketcast reconcile`: compare a mirror with its bucket."""

import json
from collections.abc import Mapping
from typing import Any, Final

import click

from bucketcast import deployment as deployed
from bucketcast.config.target import is_mirror
from bucketcast.destination import TargetArn
from bucketcast.errors import BucketcastError
from bucketcast.pipeline.aws import Runs
from bucketcast.pipeline.command import jobs
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, counted, shared

DRIFT: Final = 1
_COLUMNS = ("PATH", "WHAT", "BUCKET", "TARGET")
_KINDS = ("missing", "stale", "extra")


@click.command()
@click.argument("bucket", type=params.bucket_name)
@click.option("--target", required=True, type=params.target, metavar="TARGET", help="The target.")
@jobs.options("reconcile", without=frozenset({"target", "repair"}))
@click.option(
    "--check/--repair",
    default=True,
    help="Only list differences, or also send events that repair them. [default: --check]",
)
@jobs.no_wait_option
@shared
def command(
    out: Output,
    /,
    *,
    bucket: str,
    target: TargetArn,
    check: bool,
    no_wait: bool,
    **values: str,
) -> int:
    """Compare a mirror (format = namespace) with its bucket: missing, stale and extra rows.

    With --check the exit code is 1 if anything differs. --repair sends corrective events through
    the target's queue; check again when that queue is empty.

    \b
    Example:
      bucketcast reconcile uploads --target postgres:mirror --repair
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    runs = Runs(deployment, aws)
    to = deployment.target(target)
    values |= {
        "bucket": bucket,
        "target": to.arn,
        "queue": to.queue,
        "mirror": _mirror_json(to, deployed.settings(to, aws)),
        "repair": "" if check else "on",
    }
    result = jobs.run_job(out, runs, "reconcile", values, no_wait=no_wait)
    if result is None:
        return 0
    _print(out, result)
    return DRIFT if check and result["drift"] else 0


def _print(out: Output, result: Mapping[str, Any]) -> None:
    rows = [
        (row["path"], row["what"], _cell(row["object"]), _cell(row["row"]))
        for row in result["differences"]
    ]
    no_differences = f"{result['target']} matches {result['bucket']}"
    out.table(result, _COLUMNS, rows, no_differences)
    if out.json:
        return
    jobs.note_truncation(out, len(rows), sum(result[kind] for kind in _KINDS), "differences")
    counts = ", ".join(f"{result[kind]:,} {kind}" for kind in _KINDS)
    out.line(f"{counted(result['rows'], 'row')}: {counts}")
    if result["mode"] == "repair":
        out.line(f"{counted(result['sent'], 'repair event')} sent")
    if rows:
        out.line(f"all differences: {result['report']}")
    out.notes(result.get("notes", ()))


def _mirror_json(target: deployed.DeployedTarget, settings: Mapping[str, str]) -> str:
    """Return the kind and the settings of a mirror, with references instead of secrets.

    Raises:
        BucketcastError: the target is no mirror.
    """
    if not is_mirror(target.kind, settings):
        format_ = settings.get("format")
        mismatch = f"has format = {format_}" if format_ else f"is of kind {target.kind}"
        raise BucketcastError(
            f"{target.name} {mismatch} and stores events; only a target with format = namespace "
            "can be compared with a bucket"
        )
    document = {"kind": target.kind, "settings": dict(settings)}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _cell(row: Mapping[str, Any] | None) -> str:
    return "" if row is None else f"{row['size']} bytes, {row['time']}"
