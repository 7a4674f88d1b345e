"""`bucketcast backfill`: send a bucket's existing objects to one target."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from bucketcast.config.target import is_mirror
from bucketcast.deployment import settings
from bucketcast.destination import TargetArn, short_name
from bucketcast.errors import BucketcastError
from bucketcast.limits import LISTING_DAYS
from bucketcast.notifications.aws.attachment_times import AttachmentTimes
from bucketcast.pipeline.aws import OPTIONS, Runs, new_id
from bucketcast.pipeline.command import jobs
from bucketcast.settings import types
from bucketcast.state.lease import JOBS
from bucketcast.state.table import Partition
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, counted, shared

JOB: Final = "backfill"
INCOMPLETE: Final = 1
_RESUME: Final = "bucketcast backfill --resume"


@click.command()
@click.argument("bucket", type=params.bucket_name, required=False)
@click.option("--target", type=params.target, metavar="TARGET", help="The target.")
@jobs.options(JOB, without=frozenset({"target", "dry_run"}))
@click.option(
    "--dry-run",
    is_flag=True,
    help="Count and prepare the events, and say how long sending them takes; --resume sends them.",
)
@click.option(
    "--resume",
    type=params.rule_name,
    metavar="RUN",
    help="Continue a run that has ended, with its own options and perhaps another --rate; what "
    "was sent is not sent again.",
)
@jobs.no_wait_option
@shared
def command(
    out: Output,
    *,
    bucket: str | None,
    target: TargetArn | None,
    dry_run: bool,
    resume: str | None,
    no_wait: bool,
    **values: str,
) -> int:
    """Send a bucket's existing objects to a target, as if each had just been uploaded.

    Only objects that the target's rules match are sent. Uploads may continue meanwhile: in a mirror
    (format = namespace) a real event of an object always wins over its backfill event, whichever
    arrives first. Other targets get both in any order: the sequencer of a backfill event is 0.

    Right after `bucketcast bucket attach` the command is refused until the notification is surely
    active, because an object uploaded before that could be missed by both the events and the
    listing.

    The exit code is 1 if not all was sent: the run was paused, or objects were refused.

    \b
    Example:
      bucketcast backfill uploads --target postgres:mirror --dry-run
      bucketcast backfill --resume RUN
      bucketcast backfill uploads --target postgres:mirror \\
        --modified-after 2026-03-14T10:00Z --modified-before 2026-03-14T12:00Z
    """  # noqa: D301 - click reads the character
    if resume and dry_run:
        raise click.UsageError("--dry-run is for a new run")
    if not resume:
        _check_new(bucket, target)
    _check_selection(values)
    local_manifest = _local(values["manifest"])
    deployment, aws = out.deployed()
    runs = Runs(deployment, aws)
    options = {key: value for key, value in values.items() if value}
    if target:
        options["target"] = deployment.target(target).arn
    if bucket:
        options["bucket"] = bucket
    if resume:
        options = _earlier_options(runs, resume, options)
    to = deployment.target(TargetArn.parse(options["target"]))
    if options.get("versions") == "all" and is_mirror(to.kind, settings(to, aws)):
        raise BucketcastError(
            f"--versions all: {to.name} shows the current version of each object, and no other"
        )
    times = AttachmentTimes(deployment.state_table, aws.dynamodb)
    times.require(options["bucket"], time.time())
    leases = Partition(deployment.state_table, JOBS, aws.dynamodb)
    lease = leases.get(runs.folder(JOB, resume)) if resume else {}
    if lease and int(lease["leased_until"]["N"]) > time.time() * 1_000:
        raise BucketcastError(f"{resume} works now; wait until it has ended")
    run = resume or new_id()
    if resume:
        runs.reset(JOB, run)
    if local_manifest:
        end = ".gz" if local_manifest.suffix == ".gz" else ""  # by which Spark knows what it is
        options["manifest"] = runs.upload(JOB, run, f"manifest.csv{end}", local_manifest)
    runs.write(JOB, run, OPTIONS, options)
    job_values = {**options, "queue": to.queue, "dry_run": "on" if dry_run else ""}
    out.note(f"if it is interrupted: {_RESUME} {run}")
    result = jobs.run_job(out, runs, JOB, job_values, no_wait=no_wait, run=run)
    return 0 if result is None else _print(out, result)


def _check_new(bucket: str | None, target: TargetArn | None) -> None:
    if bucket is None:
        raise click.UsageError("BUCKET is missing")
    if target is None:
        raise click.UsageError("--target is missing")


def _check_selection(values: Mapping[str, str]) -> None:
    """Refuse options that no object can meet together.

    Raises:
        UsageError: the lower bound is not below the upper one, or there are two sources.
    """
    after, before = values["modified_after"], values["modified_before"]
    if after and before and types.time(after) >= types.time(before):
        raise click.UsageError(f"--modified-after {after} is not before --modified-before {before}")
    least, most = values["min_size"], values["max_size"]
    if least and most and int(least) > int(most):
        raise click.UsageError(f"--min-size {least} is more than --max-size {most}")
    if values["manifest"] and values["source"]:
        raise click.UsageError("--manifest and --source: allowed is one of them")


def _local(manifest: str) -> Path | None:
    """Return the path of a manifest in a file of this machine, None for another.

    Raises:
        UsageError: there is no such file.
    """
    if not manifest or manifest.startswith("s3://"):
        return None
    if not Path(manifest).is_file():
        raise click.UsageError(f"--manifest: found no file {manifest}, nor an s3:// URL")
    return Path(manifest)


def _earlier_options(runs: Runs, run: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a run, with the rate that is given now, if there is one.

    Raises:
        BucketcastError: there is no such run, or another of its options is given differently.
    """
    earlier = runs.read_options(JOB, run)
    for key, value in given.items():
        if key != "rate" and earlier.get(key) != value:
            raise BucketcastError(
                f"--{key.replace('_', '-')} is {value!r}, and {run} has {earlier.get(key, '')!r}: "
                "a run keeps its options, but for --rate"
            )
    return {**earlier, **given}


def _print(out: Output, result: Mapping[str, Any]) -> int:
    """Print the result; return the exit code."""
    resume = f"{_RESUME} {result['run']}"
    objects = f"{counted(result['objects'], 'object')} in {result['bucket']}"
    matched = f"{result['matched']:,} of {objects}"
    target = short_name(result["target"])
    lines = [f"{counted(result['events'], 'event')} for {target}: its rules match {matched}"]
    not_sent = result.get("not_sent", 0)
    if estimate := result.get("estimate"):
        hours = estimate["seconds"] / 3600
        lines += [
            f"nothing was sent; it takes {hours:.2f} hours",
            f"to send them within {LISTING_DAYS} days: {resume}",
        ]
    if result.get("paused"):
        lines.append(f"paused: {result['sent']:,} are sent, and {resume} sends the others")
    if not_sent:
        reasons = "; ".join(
            f"{number:,}: {reason}" for reason, number in result["not_sent_reasons"].items()
        )
        lines += [
            f"{counted(not_sent, 'object')} not sent: {reasons}",
            f"all of them: {result['not_sent_report']}",
        ]
    out.answer(result, *lines)
    out.notes(result.get("notes", ()))
    return INCOMPLETE if (not_sent and not estimate) or result.get("paused") else 0
