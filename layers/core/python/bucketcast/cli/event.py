"""`bucketcast event`: MinIO's `mc event`, on this deployment's rules.

Where `mc` is known to be wrong it is not followed: `rm` with only an ARN removes all of its rules,
and one that matches nothing fails.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from bucketcast.access import PRICE
from bucketcast.arn import Arn
from bucketcast.cli import asked, words
from bucketcast.cli.following import follow
from bucketcast.cli.screen import Screen, shared
from bucketcast.errors import BucketcastError
from bucketcast.printable import printable
from bucketcast.regexes import check_total
from bucketcast.rules import Rule, patterns
from bucketcast.store import deployed
from bucketcast.store.access import Aws, explained
from bucketcast.store.access_events import AccessEvents
from bucketcast.store.looks import blind
from bucketcast.store.rules import RuleExistsError, Rules
from bucketcast.store.topics.items import Items
from bucketcast.topics.model import TopicArn, is_topic

_COLUMNS = ("ARN", "EVENTS", "PREFIX", "SUFFIX", "CONDITIONS", "NAME", "ID")
_ALWAYS = ("ARN", "EVENTS", "PREFIX", "SUFFIX", "ID")
_WORDS = "put, delete, get, replica, ilm, scanner, or names such as s3:ObjectCreated:Put"


class NoRuleError(BucketcastError):
    """Nothing matches what was to be removed, or more than was named."""


class NotLookedAtError(BucketcastError):
    """A rule asks for what only the object knows, and ingest may not look at it."""


_bucket = click.argument("bucket", type=words.bucket_name)


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
    show_default="put,delete,get; to be named where access events are on",
    help=_WORDS,
)
@asked.options
@click.option(
    "-p", "--ignore-existing", is_flag=True, help="Succeed also when the rule is there already."
)
@shared
@click.pass_obj
def add(
    screen: Screen,
    /,
    bucket: str,
    arn: Arn,
    *,
    events: tuple[str, ...],
    ignore_existing: bool,
    **given: Any,
) -> None:
    """Send a bucket's events to a target.

    All that is asked for must hold; of the same option with several values, one is enough.

    \b
    Example:
      bucketcast event add uploads arn:minio:sqs::primary:webhook \\
        --event put,delete --prefix images/ --suffix .jpg --suffix .png \\
        --size 1KiB- --tag class=public --not key^=images/tmp/
    """  # noqa: D301 - click reads the character
    fields = asked.fields(given)
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    target = there.target(arn)
    rule = Rule(bucket=bucket, arn=target.arn, events=events, **fields)
    if why_blind := blind(rule, there):
        raise NotLookedAtError(why_blind)
    _refuse_unasked_costs(rule, there, aws)
    with explained():
        _refuse_large(rule, Rules(there.rules_table, aws.dynamodb))
        try:
            Rules(there.rules_table, aws.dynamodb).add(rule)
        except RuleExistsError as error:
            if not ignore_existing:
                raise RuleExistsError(f"{error}; -p takes that for success") from None
    why = "" if _scanners(rule) else deployed.why_not_wired(bucket, there, aws)
    if why and not screen.json:
        screen.note(
            f"note: {why}; `bucketcast attach {bucket}`, or [bucket.{bucket}] in bucketcast.toml "
            "and a deploy, make them come"
        )
    loop = _loop(rule, target)
    if loop and not screen.json:
        screen.note(f"note: {loop}")
    notes = [
        *([why] if why else []),
        *([loop] if loop else []),
        *follow(screen, bucket, there, aws, rule),
    ]
    document = {"bucket": bucket, **_document(rule), "note": "; ".join(notes)}
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
    rules = _of(there, bucket, arn, aws)
    known = {target.arn for target in there.targets} | _topics(rules, there, aws)
    rows = [
        (
            rule.arn if rule.arn in known else f"{rule.arn} (not deployed)",
            ",".join(rule.events),
            rule.prefix,
            rule.suffix,
            asked.shown(rule),
            rule.name,
            rule.id,
        )
        for rule in rules
    ]
    document = {
        "bucket": bucket,
        "rules": [{**_document(rule), "deployed": rule.arn in known} for rule in rules],
    }
    about = f" that names {arn.plain}" if arn else ""
    # Two of the columns are seldom used, and a terminal is narrow.
    used = [at for at, name in enumerate(_COLUMNS) if name in _ALWAYS or any(r[at] for r in rows)]
    screen.table(
        document,
        [_COLUMNS[at] for at in used],
        [[row[at] for at in used] for row in rows],
        f"{bucket} has no rule{about}",
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
@asked.options
@click.option("--id", "ids", multiple=True, metavar="ID", help="Only the rule that `ls` shows so.")
@click.option("--force", is_flag=True, help="Needed without ARN, and to remove more than was told.")
@shared
@click.pass_obj
def rm(
    screen: Screen,
    /,
    bucket: str,
    arn: Arn | None,
    *,
    events: tuple[str, ...] | None,
    ids: tuple[str, ...],
    force: bool,
    **given: Any,
) -> None:
    """Remove rules of a bucket.

    With an ARN alone: all rules that name it. With what a rule asks for: the one rule that asks
    for exactly this, and of other things for nothing. With --id: just these. Else, without an ARN,
    the rules of every target, which needs --force. What was delivered or waits already stays.

    \b
    Example:
      bucketcast event rm uploads arn:minio:sqs::primary:webhook \\
        --event put,delete --suffix .jpg
      bucketcast event rm uploads --force
    """  # noqa: D301 - click reads the character
    fields = asked.fields(given)
    narrowed = events is not None or any(given.values())
    if ids and narrowed:
        raise click.UsageError("--id names a rule exactly; leave out what it asks for")
    if arn is None and not (force or ids):
        raise click.UsageError(
            f"this removes rules of {bucket} for every target: name an ARN or --id, or add --force"
        )
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    rules = _of(there, bucket, arn, aws)
    if ids:
        rules = [rule for rule in rules if rule.id in ids]
    elif narrowed:
        rules = [rule for rule in rules if _is_meant(rule, events, fields)]
    unknown = sorted(set(ids) - {rule.id for rule in rules})
    if unknown or not rules:
        about = f" has the id {', '.join(unknown)}" if unknown else " matches"
        raise NoRuleError(
            f"no rule of {bucket}{about}, so none was removed; "
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
    follow(screen, bucket, there, aws)
    document = {"bucket": bucket, "removed": [_document(rule) for rule in rules]}
    screen.answer(document, *(f"Successfully removed {_line(rule)}" for rule in rules))


def _topics(rules: Sequence[Rule], there: deployed.Deployed, aws: Aws) -> set[str]:
    """The ARNs of topics that rules name and that are there."""
    items = Items(there.rules_table, aws.dynamodb)
    named = {rule.arn for rule in rules if is_topic(rule.arn)}
    with explained():
        return {arn for arn in named if items.topic(TopicArn.parse(arn))}


def _of(there: deployed.Deployed, bucket: str, arn: Arn | None, aws: Aws) -> list[Rule]:
    """The bucket's rules, ordered by ARN and what they ask for."""
    with explained():
        rules = Rules(there.rules_table, aws.dynamodb).of(bucket)
    wanted = [rule for rule in rules if arn is None or rule.arn == arn.plain]
    return sorted(wanted, key=lambda rule: (rule.arn, rule.prefix, rule.suffix, rule.events))


def _is_meant(rule: Rule, events: Sequence[str] | None, fields: Mapping[str, Any]) -> bool:
    """Whether it asks for just this; no events are any."""
    return (
        (events is None or set(rule.events) == set(events))
        and rule.prefix == fields["prefix"]
        and rule.suffix == fields["suffix"]
        and set(rule.conditions) == set(fields["conditions"])
        and rule.name == fields["name"]
    )


def _refuse_unasked_costs(rule: Rule, there: deployed.Deployed, aws: Aws) -> None:
    """The default has reads in it, which CloudTrail would begin to log, for money."""
    source = click.get_current_context().get_parameter_source("events")
    if source is click.core.ParameterSource.DEFAULT and AccessEvents(there, aws).are_on(
        rule.bucket
    ):
        raise click.UsageError(
            f"--event: missing, and access events of {rule.bucket} are on, so the default "
            f"put,delete,get would let CloudTrail log its reads ({PRICE}); "
            "allowed is --event put,delete, or --event put,delete,get if that is meant"
        )


def _refuse_large(rule: Rule, rules: Rules) -> None:
    """What ingest could not hold in memory must not come into force."""
    if patterns(rule):
        there = {text for each in rules.of(rule.bucket) for text in patterns(each)}
        try:
            check_total(there.union(patterns(rule)))
        except ValueError as error:
            raise click.UsageError(f"{rule.bucket}: {error}") from None


def _loop(rule: Rule, target: deployed.DeployedTarget) -> str:
    """What to say where a target writes into the bucket whose events it is to be sent."""
    if target.writes != rule.bucket:
        return ""
    return (
        f"{target.arn} writes into {rule.bucket} itself: unless what it writes has another prefix "
        "or suffix than the rule asks for, each event makes the next, without an end and for money"
    )


def _line(rule: Rule) -> str:
    more = "".join(f" {text}" for text in (asked.shown(rule), rule.name) if text)
    ends = f"prefix='{rule.prefix}' suffix='{rule.suffix}'"
    return printable(f"{rule.arn} {','.join(rule.events)} {ends}{more}")


def _scanners(rule: Rule) -> bool:
    """Whether it asks for the scanner's events alone, which come whatever S3 tells."""
    return all(event.startswith("s3:Scanner:") for event in rule.events)


def _document(rule: Rule) -> dict[str, Any]:
    """A rule with the keys of `mc --json`, and what goes beyond."""
    return {
        "id": rule.id,
        "arn": rule.arn,
        "event": list(rule.events),
        "prefix": rule.prefix,
        "suffix": rule.suffix,
        "conditions": [
            {"on": one.on, "how": one.how, "values": list(one.values), "unless": one.unless}
            for one in rule.conditions
        ],
        "name": rule.name,
    }
