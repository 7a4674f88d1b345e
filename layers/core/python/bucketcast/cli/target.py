"""`bucketcast target`: what is there and how it fares; making and removing at run time."""

from pathlib import Path
from typing import Any

import click

from bucketcast.arn import Arn
from bucketcast.cli import words
from bucketcast.cli.screen import Screen, shared
from bucketcast.store import deployed
from bucketcast.store.access import Aws, AwsError, explained
from bucketcast.store.runtime.opened import run_time_targets

WAIT_SECONDS = 30.0
_COLUMNS = ("ARN", "WHERE", "ONLINE", "MESSAGES WAITING", "MESSAGES DEAD")
_MADE = "MADE"
_BY_DEPLOY, _AT_RUN_TIME = "by the deploy", "at run time"


@click.group()
def command() -> None:
    """Targets: whether they are online, and what waits for them; made and removed at run time."""


@command.command()
@click.argument("name", metavar="KIND:ID", type=words.target_name)
@click.argument("settings", metavar="KEY=VALUE...", nargs=-1, type=words.setting)
@click.option(
    "--from-file",
    "files",
    multiple=True,
    type=words.pair,
    metavar="KEY=PATH",
    help="Take a value from a file: a certificate, a password that no shell shall remember.",
)
@click.option("--merge", is_flag=True, help="Leave the settings that are not given as they are.")
@shared
@click.pass_obj
def add(
    screen: Screen,
    /,
    name: tuple[str, str],
    settings: tuple[tuple[str, str], ...],
    *,
    files: tuple[tuple[str, str], ...],
    merge: bool,
) -> None:
    """Make a target at run time, or give one these settings; rules may name it at once.

    Settings are those of its kind in bucketcast.toml, which `bucketcast config --help` lists.
    Passwords and the like are kept in Secrets Manager.

    \b
    Example:
      bucketcast target add webhook:audit endpoint=https://example.org/hook \\
        --from-file auth_token=token.txt
    """  # noqa: D301 - click reads the character
    kind, id_ = name
    values = dict(settings) | {key: _read(path) for key, path in files}
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    with explained():
        done = run_time_targets(there, aws).put(kind, id_, values, merge=merge)
    if not screen.json:
        for note in done.notes:
            screen.note(f"note: {note}")
    document = {"arn": done.target.arn, "what": done.what, "notes": list(done.notes)}
    screen.answer(document, f"{done.target.arn} is {done.what}")


@command.command()
@click.argument("arn", type=words.target_arn)
@click.option("--discard", is_flag=True, help="Also give up what waits for it.")
@shared
@click.pass_obj
def rm(screen: Screen, arn: Arn, *, discard: bool) -> None:
    """Remove a target that was made at run time, by its ARN or KIND:ID.

    What waits for it is kept, for as long as SQS keeps messages, and sent when the target is made
    again; --discard gives it up. Rules that name it stay, and their events go nowhere meanwhile.

    \b
    Example:
      bucketcast target rm arn:minio:sqs::audit:webhook
    """  # noqa: D301 - click reads the character
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    with explained():
        done = run_time_targets(there, aws).remove(arn, discard=discard)
    document = {
        "arn": done.target.arn,
        "waiting": done.waiting,
        "dead": done.dead,
        "discarded": done.discarded,
    }
    held = f"{done.waiting} messages waiting and {done.dead} dead"
    what = f"; {'discarded' if discard else 'kept'}: {held}"
    screen.answer(
        document, f"Removed {done.target.arn}" + (what if done.waiting or done.dead else "")
    )


@command.command()
@click.option(
    "--wait",
    type=click.FloatRange(min=1, max=900),
    default=WAIT_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="How long a target may take to say whether it is online.",
)
@shared
@click.pass_obj
def ls(screen: Screen, *, wait: float) -> None:
    """List the targets: ARN, where to, online or why not, waiting and dead messages.

    Those that were made at run time stand beside those of the deploy, and say so. A target is asked
    from where its events are sent: by its own function. Waiting is its queue, with what is in
    flight or delayed; dead is its dead-letter queue. One message may hold many events, and SQS's
    counts are approximate.

    \b
    Example:
      bucketcast target ls --json
    """  # noqa: D301 - click reads the character
    aws = screen.aws(read_seconds=wait)
    there = deployed.find(screen.stack, aws)
    if there.resting and _swept(there, aws):
        there = deployed.find(screen.stack, aws)
    everyone = (*there.targets, *there.resting)
    fares = deployed.health(everyone, aws)
    both = list(zip(everyone, fares, strict=True))
    document = {"stack": there.stack, "targets": [_document(*each) for each in both]}
    # Where all come from one place, no column says so.
    made = (_MADE,) if any(target.made for target in everyone) else ()
    rows = [
        (
            target.arn,
            fare.where or "?",
            _online(target, fare),
            _count(fare.waiting),
            _count(fare.dead),
            *((_made(target),) if made else ()),
        )
        for target, fare in both
    ]
    nothing = f"the stack {there.stack} has no target: add one to bucketcast.toml and deploy"
    screen.table(document, (*_COLUMNS, *made), rows, nothing)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "no text in UTF-8"
        raise click.UsageError(f"--from-file: {path}: {why}") from None


def _swept(there: deployed.Deployed, aws: Aws) -> list[str]:
    """What was removed for good just now; whoever may only look removes nothing."""
    try:
        with explained():
            return run_time_targets(there, aws).sweep()
    except AwsError:
        return []


def _made(target: deployed.DeployedTarget) -> str:
    return _AT_RUN_TIME if target.made else _BY_DEPLOY


def _online(target: deployed.DeployedTarget, fare: deployed.Health) -> str:
    if not target.enabled:
        return "off: its events wait"
    if fare.online:
        return f"yes ({fare.why})" if fare.why else "yes"
    return f"{'no' if fare.online is False else 'unknown'}: {fare.why}"


def _count(messages: int | None) -> str:
    return "?" if messages is None else str(messages)


def _document(target: deployed.DeployedTarget, fare: deployed.Health) -> dict[str, Any]:
    return {
        "arn": target.arn,
        "kind": target.kind,
        "id": target.id,
        "made": _made(target),
        "enabled": target.enabled,
        "where": fare.where,
        "online": fare.online,
        "why": fare.why,
        "waiting": fare.waiting,
        "dead": fare.dead,
    }
