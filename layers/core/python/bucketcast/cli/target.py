"""`bucketcast target`: what is deployed, and how it fares."""

from typing import Any

import click

from bucketcast.cli.screen import Screen, shared
from bucketcast.store import deployed

WAIT_SECONDS = 30.0
_COLUMNS = ("ARN", "WHERE", "ONLINE", "MESSAGES WAITING", "MESSAGES DEAD")


@click.group()
def command() -> None:
    """Targets: whether they are online, and what waits for them."""


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

    A target is asked from where its events are sent: by its own function. Waiting is its queue,
    with what is in flight or delayed; dead is its dead-letter queue. One message may hold many
    events, and SQS's counts are approximate.

    \b
    Example:
      bucketcast target ls --json
    """  # noqa: D301 - click reads the character
    aws = screen.aws(read_seconds=wait)
    there = deployed.find(screen.stack, aws)
    fares = deployed.health(there.targets, aws)
    both = list(zip(there.targets, fares, strict=True))
    document = {"stack": there.stack, "targets": [_document(*each) for each in both]}
    rows = [
        (target.arn, fare.where or "?", _online(fare), _count(fare.waiting), _count(fare.dead))
        for target, fare in both
    ]
    nothing = f"the stack {there.stack} has no target: add one to bucketcast.toml and deploy"
    screen.table(document, _COLUMNS, rows, nothing)


def _online(fare: deployed.Health) -> str:
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
        "where": fare.where,
        "online": fare.online,
        "why": fare.why,
        "waiting": fare.waiting,
        "dead": fare.dead,
    }
