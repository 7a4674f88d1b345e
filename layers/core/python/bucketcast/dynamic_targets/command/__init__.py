"""`bucketcast target`: list targets and their health; add, remove, pause and resume them."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from bucketcast import deployment as deployed
from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.deployment.health import health
from bucketcast.destination import TargetArn
from bucketcast.dynamic_targets.aws.factory import run_time_targets
from bucketcast.dynamic_targets.command.pause import pause, resume
from bucketcast.dynamic_targets.command.rows import (
    COLUMNS,
    MADE,
    Listed,
    cells,
    document,
    made_how,
    why,
)
from bucketcast.state.breakers import Breakers
from bucketcast.state.counters import Counters, Counts, Last
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, counted, shared

WAIT_SECONDS = 30.0


@click.group()
def command() -> None:
    """List targets and their health; pause them; add and remove dynamic targets."""


command.add_command(pause)
command.add_command(resume)


@command.command()
@click.argument("name", metavar="KIND:ID", type=params.target_name)
@click.argument("settings", metavar="KEY=VALUE...", nargs=-1, type=params.setting)
@click.option(
    "--from-file",
    "files",
    multiple=True,
    type=params.pair,
    metavar="KEY=PATH",
    help="Read a value from a file, e.g. a certificate, or a password to keep out of the shell.",
)
@click.option("--merge", is_flag=True, help="Keep existing settings that are not given.")
@shared
def add(
    out: Output,
    /,
    name: tuple[str, str],
    settings: tuple[tuple[str, str], ...],
    *,
    files: tuple[tuple[str, str], ...],
    merge: bool,
) -> None:
    """Create or change a target without a deploy; rules may use it at once.

    The settings are those of its kind in bucketcast.toml; `bucketcast config --help` lists them.
    Passwords and other secrets are stored in Secrets Manager.

    \b
    Example:
      bucketcast target add webhook:audit endpoint=https://example.org/hook \\
        --from-file auth_token=token.txt
    """  # noqa: D301 - click reads the character
    kind, id_ = name
    values = dict(settings) | {key: _read(path) for key, path in files}
    deployment, aws = out.deployed()
    with aws_errors():
        done = run_time_targets(deployment, aws).put(kind, id_, values, merge=merge)
    out.notes(done.notes)
    document = {"arn": done.target.arn, "what": done.what, "notes": list(done.notes)}
    out.answer(document, f"{done.target.arn} is {done.what}")


@command.command()
@click.argument("arn", type=params.target_arn)
@click.option("--discard", is_flag=True, help="Also discard its queued events.")
@shared
def rm(out: Output, arn: TargetArn, *, discard: bool) -> None:
    """Remove a dynamic target by its ARN or KIND:ID.

    Its queued events are kept for as long as SQS keeps messages, and sent if the target is created
    again; --discard discards them. Rules that name it stay, but new events for it are dropped.

    \b
    Example:
      bucketcast target rm arn:minio:sqs::audit:webhook
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    with aws_errors():
        done = run_time_targets(deployment, aws).remove(arn, discard=discard)
    document = {
        "arn": done.target.arn,
        "waiting": done.waiting,
        "dead": done.dead,
        "discarded": done.discarded,
    }
    messages = f"{counted(done.waiting, 'message')} waiting, {done.dead:,} dead"
    what = f"; {'discarded' if discard else 'kept'}: {messages}"
    out.answer(document, f"Removed {done.target.arn}" + (what if done.waiting or done.dead else ""))


@command.command()
@params.wait("Timeout for a target's health check.", WAIT_SECONDS)
@shared
def ls(out: Output, *, wait: float) -> None:
    """List targets: whether online, what waits, is dead, and was sent; then reasons and errors.

    The health check runs in the target's own function, where its events are sent from. WAITING is
    the length of its queue, including delayed and in-flight messages; DEAD is the length of its
    dead-letter queue. A message may hold many events, and SQS's counts are approximate. OLDEST is
    for how long the oldest event waits that the function has last received. SENT counts events and
    FAILED failed attempts since the stack was created; LAST SUCCESS is when an event was last
    delivered. Addresses and messages in flight are in --json. Dynamic targets are listed and
    marked.

    \b
    Example:
      bucketcast target ls --json
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed(read_seconds=wait)
    if deployment.resting and _swept(deployment, aws):
        deployment, aws = out.deployed(read_seconds=wait)
    everyone = (*deployment.targets, *deployment.resting)
    reports = health(everyone, aws)
    with aws_errors():
        outages = Breakers(deployment.state_table, lambda: aws.dynamodb).read()
        counters = Counters(deployment.state_table, lambda: aws.dynamodb)
        lasts, counts = counters.last(), counters.read()
    found = [
        Listed(
            target,
            report,
            outages.get(target.arn),
            lasts.get(target.arn, Last()),
            counts.get(target.arn, Counts()),
        )
        for target, report in zip(everyone, reports, strict=True)
    ]
    listed = {
        "stack": deployment.stack,
        "targets": [document(each) for each in found],
        "others": _others(found, counts),
    }
    # The column is shown only where it distinguishes targets.
    made = (MADE,) if any(target.made for target in everyone) else ()
    now = round(time.time() * 1_000)
    rows = [(*cells(each, now), *((made_how(each.target),) if made else ())) for each in found]
    nothing = f"the stack {deployment.stack} has no targets: add one to bucketcast.toml and deploy"
    out.table(listed, (*COLUMNS, *made), rows, nothing)
    if not out.json:
        for each in found:
            if reason := why(each, now):
                out.line(f"{each.target.arn}: {reason}")
    for arn, events in sorted(counts.items()):
        if events.skipped:
            dropped = counted(events.skipped, "event")
            out.note(f"note: {dropped} for {arn} dropped: there was no such target or topic")


def _others(found: Sequence[Listed], counts: Mapping[str, Counts]) -> list[dict[str, object]]:
    """Return the counts of ARNs that are no target's: topics, and targets that are missing."""
    listed = {each.target.arn for each in found}
    return [
        {"arn": arn, "events": events._asdict()}
        for arn, events in sorted(counts.items())
        if arn not in listed
    ]


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise click.UsageError(f"--from-file: {path}: {why}") from None


def _swept(deployment: deployed.Deployed, aws: Aws) -> list[str]:
    """Finish pending removals; without the rights for it, do nothing."""
    try:
        with aws_errors():
            return run_time_targets(deployment, aws).sweep()
    except AwsError:
        return []
