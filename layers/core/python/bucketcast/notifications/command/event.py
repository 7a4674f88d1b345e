"""`bucketcast event`: MinIO's `mc event` for this deployment's rules.

Two bugs of `mc` are not copied: `rm` with only an ARN removes all rules of that ARN, and `rm` that
matches no rule fails.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from bucketcast import deployment as deployed
from bucketcast.aws.clients import Aws
from bucketcast.destination import TargetArn
from bucketcast.errors import BucketcastError, ConfigErrors
from bucketcast.notifications.aws import checks
from bucketcast.notifications.aws.checks import existing_targets
from bucketcast.notifications.command import filters
from bucketcast.notifications.command.event_apply import apply
from bucketcast.notifications.command.event_switch import chosen, disable, enable, missing
from bucketcast.rules import Rule, listing
from bucketcast.rules.listing import document
from bucketcast.state.rules import RuleExistsError, Rules
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared, yes_option

_COLUMNS = ("BUCKET", "TARGET", "EVENTS", "PREFIX", "SUFFIX", "CONDITIONS", "NAME", "STATE", "ID")
_ALWAYS = ("TARGET", "EVENTS", "PREFIX", "SUFFIX", "ID")
_WORDS = "put, delete, get, replica, ilm, scanner, or names such as s3:ObjectCreated:Put"


_bucket = click.argument("bucket", type=params.bucket_name)


@click.group()
def command() -> None:
    """Add, list, switch, apply and remove rules: which events of a bucket go to which target.

    A rule is active as soon as the command that added it returns.
    """


command.add_command(apply)
command.add_command(disable)
command.add_command(enable)


@command.command()
@_bucket
@click.argument("arn", metavar="TARGET", type=params.target)
@params.event_option(_WORDS, default=["put,delete,get"])
@filters.options
@click.option(
    "-p", "--ignore-existing", is_flag=True, help="Succeed if the same rule already exists."
)
@click.option(
    "--ahead",
    is_flag=True,
    help="Accept a bucket that does not exist yet, or belongs to another account.",
)
@shared
def add(
    out: Output,
    /,
    bucket: str,
    arn: TargetArn,
    *,
    events: tuple[str, ...],
    ignore_existing: bool,
    ahead: bool,
    **given: Any,
) -> None:
    """Add a rule: send a bucket's events to a target.

    All filters must match; of one option given several times, one value is enough.

    \b
    Example:
      bucketcast event add uploads webhook:primary \\
        --event put,delete --prefix images/ --suffix .jpg --suffix .png \\
        --size 1KiB- --tag class=public --not key^=images/tmp/
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    fields, target = filters.fields(given), deployment.target(arn)
    rule = Rule(bucket=bucket, arn=target.arn, events=events, **fields)
    why, parts = checks.connection(bucket, deployment, aws)
    if why == checks.bucket_missing(bucket) and not ahead:
        raise BucketcastError(
            f"{why}: check the name, or add --ahead for a bucket to be created or of another "
            "account"
        )
    rules = Rules(deployment.state_table, aws.dynamodb)
    after = [rule, *rules.active(bucket)]
    if errors := list(checks.problems([rule], after, parts, deployment, aws)):
        raise ConfigErrors(errors)
    try:
        rules.add(rule)
    except RuleExistsError as error:
        if not ignore_existing:
            raise RuleExistsError(f"{error}; use -p to ignore this") from None
    notes = checks.notes([rule], why, deployment)
    out.notes(notes)
    answer = {"bucket": bucket, **document(rule), "note": "; ".join(notes)}
    out.answer(answer, f"Successfully added {rule.to.short}")


@command.command()
@click.argument("bucket", type=params.bucket_name, required=False)
@click.argument("arn", metavar="[TARGET]", type=params.target, required=False)
@shared
def ls(out: Output, bucket: str | None, arn: TargetArn | None) -> None:
    """List the rules of a bucket, or of all buckets; with TARGET, only those for it.

    \b
    Example:
      bucketcast event ls
      bucketcast event ls uploads
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    rules = _read_rules(deployment, bucket, arn, aws)
    known = existing_targets(rules, deployment, aws)
    rows = [
        (
            rule.bucket,
            rule.to.short if rule.arn in known else f"{rule.to.short} (not deployed)",
            ",".join(rule.events),
            rule.prefix,
            rule.suffix,
            listing.conditions_text(rule),
            rule.name,
            listing.state(rule),
            rule.id,
        )
        for rule in rules
    ]
    answer = {
        "bucket": bucket,
        **({"arn": arn.plain} if arn else {}),
        "rules": [
            {"bucket": rule.bucket, **document(rule), "deployed": rule.arn in known}
            for rule in rules
        ],
    }
    suffix = f" for {arn.short}" if arn else ""
    # Hide empty columns, since a terminal is narrow.
    always = _ALWAYS if bucket else (*_ALWAYS, "BUCKET")
    used = [
        index
        for index, name in enumerate(_COLUMNS)
        if name in always or (name != "BUCKET" and any(row[index] for row in rows))
    ]
    out.table(
        answer,
        [_COLUMNS[index] for index in used],
        [[row[index] for index in used] for row in rows],
        f"{bucket or 'no bucket'} has {'no ' if bucket else ''}rules{suffix}",
    )


@command.command()
@_bucket
@click.argument("arn", metavar="[TARGET]", type=params.target, required=False)
@params.event_option(f"Only the rule with exactly these events: {_WORDS}")
@filters.options
@click.option("--id", "ids", multiple=True, metavar="ID", help="Only the rule with this ID.")
@yes_option("Do not ask before several rules are removed.")
@shared
def rm(
    out: Output,
    /,
    bucket: str,
    arn: TargetArn | None,
    *,
    events: tuple[str, ...] | None,
    ids: tuple[str, ...],
    yes: bool,
    **given: Any,
) -> None:
    """Remove rules of a bucket.

    With a target: all rules for it. With filters: those with exactly these filters. With --id: the
    rules with these ids. With the bucket alone: all its rules. Events that are already queued are
    still delivered.

    \b
    Example:
      bucketcast event rm uploads webhook:primary --event put,delete --suffix .jpg
      bucketcast event rm uploads --yes
    """  # noqa: D301 - click reads the character
    fields = filters.fields(given)
    has_filters = events is not None or any(given.values())
    if ids and has_filters:
        raise click.UsageError("--id cannot be combined with filters")
    deployment, aws = out.deployed()
    rules = _read_rules(deployment, bucket, arn, aws)
    if ids:
        rules = chosen(rules, bucket, ids)
    elif has_filters:
        rules = [rule for rule in rules if _is_exact_match(rule, events, fields)]
    if not rules:
        raise missing(bucket, "matches")
    if len(rules) > 1 and not ids and not yes:
        question = f"Remove {len(rules)} rules of {bucket}?"
        out.confirm(question, *(f"  {listing.line(rule)}" for rule in rules))
    Rules(deployment.state_table, aws.dynamodb).remove(rules)
    answer = {"bucket": bucket, "removed": [document(rule) for rule in rules]}
    out.answer(answer, *(f"Successfully removed {listing.line(rule)}" for rule in rules))


def _read_rules(
    deployment: deployed.Deployed, bucket: str | None, arn: TargetArn | None, aws: Aws
) -> list[Rule]:
    """Read the rules of a bucket, or of all, for an ARN, or all, ordered by ARN and filter."""
    table = Rules(deployment.state_table, aws.dynamodb)
    rules = table.of(bucket) if bucket else table.all()
    matching = [rule for rule in rules if arn is None or rule.arn == arn.plain]
    return sorted(
        matching, key=lambda rule: (rule.bucket, rule.arn, rule.prefix, rule.suffix, rule.events)
    )


def _is_exact_match(rule: Rule, events: Sequence[str] | None, fields: Mapping[str, Any]) -> bool:
    """Return True if a rule has exactly these events and filters; None is any events."""
    return (
        (events is None or set(rule.events) == set(events))
        and rule.prefix == fields["prefix"]
        and rule.suffix == fields["suffix"]
        and set(rule.conditions) == set(fields["conditions"])
        and rule.name == fields["name"]
    )
