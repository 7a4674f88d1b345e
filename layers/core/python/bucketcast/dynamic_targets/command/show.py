"""`bucketcast target show`: all that is known of one target."""

import time
from typing import Any, Final

import click

from bucketcast import deployment as deployed
from bucketcast import targets
from bucketcast.aws.clients import Aws
from bucketcast.deployment.health import probe
from bucketcast.deployment.status import read_statuses
from bucketcast.destination import TargetArn, TopicArn
from bucketcast.display import redacted_url
from bucketcast.dynamic_targets.command.rows import ALL_COLUMNS, cells, document
from bucketcast.rules import listing
from bucketcast.settings.options import Option, options_of
from bucketcast.settings.types import REFERENCE
from bucketcast.state.rules import Rules
from bucketcast.terminal import hanging, params
from bucketcast.terminal.output import Output, counted, shared
from bucketcast.terminal.remarks import remarks

WAIT_SECONDS: Final = 30
_HIDDEN: Final = "***"


@click.command()
@click.argument("arn", metavar="TARGET", type=params.target_or_topic)
@params.wait("Timeout for the target's health check.", WAIT_SECONDS)
@shared
def show(out: Output, arn: TargetArn | TopicArn, *, wait: int) -> None:
    """Show a target: state, figures, queues, rules, and settings without secrets.

    \b
    Example:
      bucketcast target show webhook:primary
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed(read_seconds=wait)
    target = deployment.target(arn)
    (row,), _ = read_statuses([target], [probe(target, aws)], deployment.state_table, aws)
    rules = hanging.rules_naming(arn, Rules(deployment.state_table, aws.dynamodb))
    now = round(time.time() * 1_000)
    queues = {"queue": target.queue, "dead_letter_queue": target.dead}
    settings = shown_settings(target, aws)
    listed = [{"bucket": rule.bucket, **listing.document(rule)} for rule in rules]
    figures = zip(ALL_COLUMNS, cells(row, now), strict=True)
    shown = [
        *(f"{name}: {cell}" for name, cell in figures),
        f"NOTE: {remarks(row, now) or '-'}",
        f"QUEUE: {target.queue}",
        f"RULES: {counted(len(rules), 'rule')}",
        *hanging.lines(rules),
        "SETTINGS:",
        *(f"  {key} = {value}" for key, value in settings.items()),
    ]
    out.answer({**document(row), **queues, "rules": listed, "settings": settings}, *shown)


def shown_settings(target: deployed.DeployedTarget, aws: Aws) -> dict[str, str]:
    """Return a target's settings that have a value, without secrets and logins, by name.

    Raises:
        AwsError: AWS cannot be reached.
    """
    declared: Any = targets.load(target.kind).Settings
    options = options_of(declared)
    return {
        key: _shown(value, options.get(key))
        for key, value in sorted(deployed.settings(target, aws).items())
        if value
    }


def _shown(text: str, option: Option | None) -> str:
    """Return what may be shown of a setting; without an `option` it may be a secret."""
    if text.startswith(REFERENCE):
        return text
    if option is None or option.hides(text):
        return _HIDDEN
    return redacted_url(text) if "://" in text else text
