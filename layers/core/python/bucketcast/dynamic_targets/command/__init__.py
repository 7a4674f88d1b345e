"""`bucketcast target`: list targets and their health; add, remove, pause and resume them."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from bucketcast import deployment as deployed
from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.delivery.queue_names import kind_of
from bucketcast.deployment.health import probe_all
from bucketcast.deployment.status import Status, read_statuses, read_unchecked
from bucketcast.destination import TargetArn, short_name
from bucketcast.dynamic_targets.aws.factory import dynamic_targets_of
from bucketcast.dynamic_targets.command.pause import pause, resume
from bucketcast.dynamic_targets.command.rows import (
    COLUMNS,
    cells,
    document,
)
from bucketcast.dynamic_targets.command.show import WAIT_SECONDS, show
from bucketcast.dynamic_targets.command.watching import watch
from bucketcast.state.counters import Counts
from bucketcast.state.rules import Rules
from bucketcast.terminal import hanging, params
from bucketcast.terminal.output import Output, counted, shared, yes_option
from bucketcast.terminal.remarks import remarks


@click.group()
def command() -> None:
    """List, show and pause targets; add, change and remove dynamic ones."""


command.add_command(pause)
command.add_command(resume)
command.add_command(show)

_target = click.argument("arn", metavar="TARGET", type=params.target)


_settings = click.argument("settings", metavar="KEY=VALUE...", nargs=-1, type=params.pair)
_files = click.option(
    "--from-file",
    "files",
    multiple=True,
    type=params.pair,
    metavar="KEY=PATH",
    help="Read a value from a file, e.g. a certificate, or a password to keep out of the shell.",
)
_Pairs = tuple[tuple[str, str], ...]


@command.command()
@_target
@_settings
@_files
@shared
def add(out: Output, /, arn: TargetArn, settings: _Pairs, *, files: _Pairs) -> None:
    """Create a target without a deploy, or replace all its settings; rules may use it at once.

    The settings are those of its kind in bucketcast.toml; `bucketcast config --help` lists them.
    Passwords and other secrets are stored in Secrets Manager.

    \b
    Example:
      bucketcast target add webhook:audit endpoint=https://example.org/hook \\
        --from-file auth_token=token.txt
    """  # noqa: D301 - click reads the character
    _put(out, arn, settings, files, merge=False)


@command.command("set")
@_target
@_settings
@_files
@shared
def set_(out: Output, /, arn: TargetArn, settings: _Pairs, *, files: _Pairs) -> None:
    """Change settings of a dynamic target and keep the others; an empty value removes one.

    \b
    Example:
      bucketcast target set webhook:audit timeout=20s
    """  # noqa: D301 - click reads the character
    _put(out, arn, settings, files, merge=True)


def _put(out: Output, arn: TargetArn, settings: _Pairs, files: _Pairs, *, merge: bool) -> None:
    values = dict(settings) | {key: params.read_file(Path(path)).strip() for key, path in files}
    deployment, aws = out.deployed()
    if merge:
        deployment.target(arn)
    result = dynamic_targets_of(deployment, aws).put(kind_of(arn), arn.id, values, merge=merge)
    out.notes(result.notes)
    document = {"arn": result.target.arn, "what": result.outcome, "notes": list(result.notes)}
    out.answer(document, f"{result.outcome}: {arn.short}")


@command.command()
@_target
@click.option("--discard", is_flag=True, help="Also discard its queued events.")
@click.option("--rules", is_flag=True, help="Also remove the rules that name it.")
@yes_option("Do not ask before events are discarded, or if rules name it.")
@shared
def rm(out: Output, arn: TargetArn, *, discard: bool, rules: bool, yes: bool) -> None:
    """Remove a dynamic target.

    Its queued events are kept for as long as SQS keeps messages, and sent if the target is created
    again; --discard discards them. Rules that name it stay unless you remove them with it, but new
    events for it are dropped.

    \b
    Example:
      bucketcast target rm webhook:audit
      bucketcast target rm webhook:audit --rules --yes
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    table = Rules(deployment.state_table, aws.dynamodb)
    is_known = any(each.dynamic and each.arn == arn.plain for each in deployment.all_targets)
    naming = hanging.rules_naming(arn, table) if is_known else []
    if is_known and (discard or naming) and not yes:
        also = " and discard its queued events" if discard else ""
        question = f"Remove {arn.short}{hanging.named_by(naming)}{also}?"
        out.confirm(question, *hanging.lines(naming))
        if naming and not rules:
            rules = click.confirm(f"Remove {counted(len(naming), 'rule')}, too?", err=True)
    removed = dynamic_targets_of(deployment, aws).remove(arn, discard=discard)
    if rules:
        table.remove(naming)
    document = {
        "arn": removed.target.arn,
        "rules": len(naming),
        "removed_rules": len(naming) if rules else 0,
        "waiting": removed.waiting,
        "dead": removed.dead,
        "discarded": removed.discarded,
    }
    messages = f"{counted(removed.waiting, 'message')} waiting, {removed.dead:,} dead"
    details = f"; {'discarded' if discard else 'kept'}: {messages}"
    fate = "removed with it" if rules else "that name it, whose events are dropped"
    out.answer(
        document,
        f"Removed {arn.short}" + (details if removed.waiting or removed.dead else ""),
        *([f"Rules {fate}: {len(naming):,}"] if naming else []),
    )


@command.command()
@params.wait("Timeout for a target's health check.", WAIT_SECONDS)
@click.option("--watch", "watching", is_flag=True, help="Repeat it until Ctrl-C is pressed.")
@shared
def ls(out: Output, *, wait: int, watching: bool) -> None:
    """List targets with their health and queues; then reasons and errors.

    STATE is failing if most of the last tries failed, whatever the health check says, and offline
    if that fails; it runs in the target's own function, which also sends its events. WAITING is the
    length of its queue, including delayed and in-flight messages; DEAD is the length of its
    dead-letter queue. A message may hold many events, and SQS's counts are approximate. OLDEST is
    the age of the oldest event that is known to wait, LAST OK that of the last delivery. --json has
    more, as `target show` does. With --watch no health check is made: online is what no event
    speaks against. A pipe gets a line for each change.

    \b
    Example:
      bucketcast target ls
      bucketcast target ls --watch
    """  # noqa: D301 - click reads the character
    if watching and out.json:
        raise click.UsageError("--watch cannot be combined with --json")
    if watching:
        _, aws = out.deployed()
        watch(out, lambda: _unchecked_table(deployed.find(out.stack, aws), aws))
        return
    deployment, aws = out.deployed(read_seconds=wait)
    if deployment.inactive and _sweep(deployment, aws):
        deployment, aws = out.deployed(read_seconds=wait)
    targets = deployment.all_targets
    probes = probe_all(targets, aws)
    entries, counts = read_statuses(targets, probes, deployment.state_table, aws)
    result = {
        "stack": deployment.stack,
        "targets": [document(row) for row in entries],
        "others": _others(entries, counts),
    }
    now = round(time.time() * 1_000)
    hint = f"the stack {deployment.stack} has no targets: add one to bucketcast.toml and deploy"
    out.table(result, COLUMNS, _table(entries), hint)
    if not out.json:
        for row in entries:
            if reason := remarks(row, now):
                out.line(f"{row.target.name}: {reason}")
    for arn, events in sorted(counts.items()):
        if events.skipped:
            dropped = counted(events.skipped, "event")
            out.note(
                f"note: {dropped} for {short_name(arn)} dropped: there was no such target or topic"
            )


def _unchecked_table(deployment: deployed.Deployed, aws: Aws) -> list[Sequence[str]]:
    """Return the table of what is stored."""
    entries, _ = read_unchecked(deployment, aws)
    return [
        (name, "online" if state == "probing" else state, *others)
        for name, state, *others in _table(entries)
    ]


def _table(entries: Sequence[Status]) -> list[Sequence[str]]:
    now = round(time.time() * 1_000)
    return [cells(row, now)[: len(COLUMNS)] for row in entries]


def _others(rows: Sequence[Status], counts: Mapping[str, Counts]) -> list[dict[str, object]]:
    """Return the counts of other ARNs: of topics, and of targets that do not exist."""
    listed = {row.target.arn for row in rows}
    return [
        {"arn": arn, "events": events._asdict()}
        for arn, events in sorted(counts.items())
        if arn not in listed
    ]


def _sweep(deployment: deployed.Deployed, aws: Aws) -> list[str]:
    """Finish pending removals; without the rights for it, do nothing."""
    try:
        with aws_errors():
            return dynamic_targets_of(deployment, aws).sweep()
    except AwsError:
        return []
