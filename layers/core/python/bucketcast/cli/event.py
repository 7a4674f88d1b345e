"""`bucketcast event`: MinIO's `mc event`, on this deployment's rules.

Where `mc` is known to be wrong it is not followed: `rm` with only an ARN removes all of its rules,
and one that matches nothing fails.
"""

from collections.abc import Sequence
from typing import Any

import click

from bucketcast.arn import Arn
from bucketcast.cli import words
from bucketcast.cli.screen import Screen, shared
from bucketcast.errors import BucketcastError
from bucketcast.rules import Rule
from bucketcast.store import deployed
from bucketcast.store.access import Aws, explained
from bucketcast.store.rules import RuleExistsError, Rules

_WORDS = "put, delete, get, replica, ilm, scanner, or names such as s3:ObjectCreated:Put"


class NoRuleError(BucketcastError):
    """Nothing matches what was to be removed, or more than was named."""


_bucket = click.argument("bucket", type=words.bucket_name)
_prefix = click.option(
    "--prefix", type=words.key_part, metavar="TEXT", help="What keys begin with; * and ? are wild."
)
_suffix = click.option(
    "--suffix", type=words.key_part, metavar="TEXT", help="What keys end with; * and ? are wild."
)


@click.group()
def command() -> None:
    """Rules: which events of a bucket go to which target.

    A rule is in force when the command that made it returns.
    """


@command.command()
@_bucket
@click.argument("arn", type=words.arn)
@click.option(
    "--event",
    "events",
    type=words.events,
    metavar="EVENTS",
    default="put,delete,get",
    show_default=True,
    help=_WORDS,
)
@_prefix
@_suffix
@click.option(
    "-p", "--ignore-existing", is_flag=True, help="Succeed also when the rule is there already."
)
@shared
@click.pass_obj
def add(  # noqa: PLR0913 - one parameter an option
    screen: Screen,
    bucket: str,
    arn: Arn,
    *,
    events: tuple[str, ...],
    prefix: str | None,
    suffix: str | None,
    ignore_existing: bool,
) -> None:
    """Send a bucket's events to a target.

    \b
    Example:
      bucketcast event add uploads arn:minio:sqs::primary:webhook \\
        --event put,delete --prefix images/ --suffix .jpg
    """  # noqa: D301 - click reads the character
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    target = there.target(arn)
    rule = Rule(
        bucket=bucket, arn=target.arn, events=events, prefix=prefix or "", suffix=suffix or ""
    )
    with explained():
        try:
            Rules(there.rules_table, aws.dynamodb).add(rule)
        except RuleExistsError as error:
            if not ignore_existing:
                raise RuleExistsError(f"{error}; -p takes that for success") from None
    why = deployed.why_not_wired(bucket, there, aws)
    if why and not screen.json:
        screen.note(f"note: {why}; [bucket.{bucket}] in bucketcast.toml and a deploy wire a bucket")
    document = {"bucket": bucket, **_document(rule), "note": why}
    screen.answer(document, f"Successfully added {rule.arn}")


@command.command()
@_bucket
@click.argument("arn", type=words.arn, required=False)
@shared
@click.pass_obj
def ls(screen: Screen, bucket: str, arn: Arn | None) -> None:
    """List a bucket's rules, all or those of one target.

    \b
    Example:
      bucketcast event ls uploads
    """  # noqa: D301 - click reads the character
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    known = {target.arn for target in there.targets}
    rules = _of(there, bucket, arn, aws)
    rows = [
        (
            rule.arn if rule.arn in known else f"{rule.arn} (not deployed)",
            ",".join(rule.events),
            rule.prefix,
            rule.suffix,
        )
        for rule in rules
    ]
    document = {
        "bucket": bucket,
        "rules": [{**_document(rule), "deployed": rule.arn in known} for rule in rules],
    }
    about = f" that names {arn.plain}" if arn else ""
    screen.table(
        document, ("ARN", "EVENTS", "PREFIX", "SUFFIX"), rows, f"{bucket} has no rule{about}"
    )


@command.command()
@_bucket
@click.argument("arn", type=words.arn, required=False)
@click.option(
    "--event",
    "events",
    type=words.events,
    metavar="EVENTS",
    help=f"Only the rule with just these: {_WORDS}",
)
@_prefix
@_suffix
@click.option("--force", is_flag=True, help="Needed without ARN, and to remove more than was told.")
@shared
@click.pass_obj
def rm(  # noqa: PLR0913 - one parameter an option
    screen: Screen,
    bucket: str,
    arn: Arn | None,
    *,
    events: tuple[str, ...] | None,
    prefix: str | None,
    suffix: str | None,
    force: bool,
) -> None:
    """Remove rules of a bucket.

    With an ARN alone: all rules that name it. With --event, --prefix or --suffix: the one rule
    with exactly these, a prefix or suffix that is not given being none. Without an ARN: the rules
    of every target, which needs --force. What was delivered or waits already stays.

    \b
    Example:
      bucketcast event rm uploads arn:minio:sqs::primary:webhook \\
        --event put,delete --suffix .jpg
      bucketcast event rm uploads --force
    """  # noqa: D301 - click reads the character
    if arn is None and not force:
        raise click.UsageError(
            f"this removes rules of {bucket} for every target: name an ARN, or add --force"
        )
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    rules = _of(there, bucket, arn, aws)
    narrowed = any(given is not None for given in (events, prefix, suffix))
    if narrowed:
        rules = [rule for rule in rules if _is_meant(rule, events, prefix, suffix)]
    if not rules:
        raise NoRuleError(
            f"no rule of {bucket} matches, so none was removed; "
            f"`bucketcast event ls {bucket}` shows what there is"
        )
    if narrowed and len(rules) > 1 and not force:
        listed = "".join(f"\n  {_line(rule)}" for rule in rules)
        raise NoRuleError(
            f"{len(rules)} rules match, none was removed: say which with --event, "
            f"or add --force to remove all of them{listed}"
        )
    with explained():
        Rules(there.rules_table, aws.dynamodb).remove(rules)
    document = {"bucket": bucket, "removed": [_document(rule) for rule in rules]}
    screen.answer(document, *(f"Successfully removed {_line(rule)}" for rule in rules))


def _of(there: deployed.Deployed, bucket: str, arn: Arn | None, aws: Aws) -> list[Rule]:
    """The bucket's rules, ordered by ARN and what they ask for."""
    with explained():
        rules = Rules(there.rules_table, aws.dynamodb).of(bucket)
    wanted = [rule for rule in rules if arn is None or rule.arn == arn.plain]
    return sorted(wanted, key=lambda rule: (rule.arn, rule.prefix, rule.suffix, rule.events))


def _is_meant(
    rule: Rule, events: Sequence[str] | None, prefix: str | None, suffix: str | None
) -> bool:
    return (
        (events is None or set(rule.events) == set(events))
        and rule.prefix == (prefix or "")
        and rule.suffix == (suffix or "")
    )


def _line(rule: Rule) -> str:
    return f"{rule.arn} {','.join(rule.events)} prefix='{rule.prefix}' suffix='{rule.suffix}'"


def _document(rule: Rule) -> dict[str, Any]:
    """A rule with the keys of `mc --json`."""
    return {
        "id": rule.id,
        "arn": rule.arn,
        "event": list(rule.events),
        "prefix": rule.prefix,
        "suffix": rule.suffix,
    }
