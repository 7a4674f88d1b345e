"""`bucketcast status`: which buckets' events come, and what else their notifications hold."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import click

from bucketcast.cli import words
from bucketcast.cli.screen import Screen, shared
from bucketcast.store import deployed
from bucketcast.store.access import Aws, AwsError, explained
from bucketcast.store.access_events import AccessEvents
from bucketcast.store.rules import Rules
from bucketcast.store.trail import Logged
from bucketcast.store.wired import Buckets, Wired

_COLUMNS = ("BUCKET", "EVENTS COME", "ACCESS EVENTS", "RULES", "OTHER ENTRIES, UNTOUCHED")
_AT_ONCE = 16


class _Seen(NamedTuple):
    """A bucket; `logged` is None where access events are off, and text where it is not known."""

    wired: Wired
    rules: int
    logged: Logged | str | None


@click.command()
@click.argument("bucket", type=words.bucket_name, required=False)
@shared
@click.pass_obj
def command(screen: Screen, bucket: str | None) -> None:
    """Show which buckets' events come, by what way, and what else their notifications hold.

    Before that the ARNs of the targets, which rules may name. Without BUCKET: every bucket of the
    account that is attached or has rules. Access events are the calls that CloudTrail logs because
    a rule asks for them.

    \b
    Example:
      bucketcast status
      bucketcast status archive --json
    """  # noqa: D301 - click reads the character
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    buckets = Buckets(there, aws)
    names = [bucket] if bucket else buckets.names()
    wired = _look(buckets, names, aws)
    rules = _rules(there.rules_table, names, aws)
    shown = [each for each in wired if bucket or each.via or each.by_deploy or rules[each.bucket]]
    events = AccessEvents(there, aws)
    seen = [_Seen(each, rules[each.bucket], _logged(events, each.bucket)) for each in shown]
    arns = [target.arn for target in there.targets]
    document = {"buckets": [_document(each) for each in seen], "sqs_arns": arns}
    rows = [
        (
            each.wired.bucket,
            _way(each.wired),
            _access(each.logged),
            str(each.rules),
            "; ".join(each.wired.others),
        )
        for each in seen
    ]
    if not screen.json:
        # As MinIO prints it when it starts.
        click.echo(f"SQS ARNs: {' '.join(arns) or 'none'}")
    nothing = "no bucket is attached: `bucketcast attach BUCKET`, or [bucket.NAME] and a deploy"
    screen.table(document, _COLUMNS, rows, nothing)


def _look(buckets: Buckets, names: Iterable[str], aws: Aws) -> list[Wired]:
    _ = aws.s3, aws.events, aws.dynamodb  # making a client is not safe among threads, using one is
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(buckets.look, names))


def _rules(table: str, names: Iterable[str], aws: Aws) -> dict[str, int]:
    rules = Rules(table, aws.dynamodb)
    with explained():
        had = rules.versions(names)
        return {name: len(rules.of(name)) if name in had else 0 for name in names}


def _logged(events: AccessEvents, bucket: str) -> Logged | str | None:
    try:
        return events.look(bucket)
    except AwsError as error:
        return str(error)


def _way(wired: Wired) -> str:
    if not wired.via:
        return f"no ({wired.why})" if wired.why else "no"
    said = f"via {wired.via}, by the deploy" if wired.by_deploy else f"via {wired.via}"
    if wired.left:
        return f"{said}, and still by the rule of `attach`: `bucketcast detach {wired.bucket}`"
    if not wired.both:
        return said
    when = wired.switch.when if wired.switch else ""
    again = "" if wired.by_deploy else f": attach it again after {when}" if when else ": attach it"
    return f"{said}, and still by the other way{again}"


def _access(logged: Logged | str | None) -> str:
    if not isinstance(logged, Logged):
        return f"? ({logged})" if logged else "off"
    if not logged.is_so:
        return f"on, but {logged.trail} does not log what the rules ask for: attach again"
    calls = ", ".join(logged.asked.calls) or "no rule asks for any"
    return f"on: {calls}, by {logged.trail}"


def _document(seen: _Seen) -> dict[str, Any]:
    unknown = seen.logged if isinstance(seen.logged, str) else ""
    return {
        "bucket": seen.wired.bucket,
        "via": seen.wired.via or None,
        "by_deploy": seen.wired.by_deploy,
        "both": seen.wired.both,
        "others": list(seen.wired.others),
        "why": seen.wired.why or unknown,
        "rules": seen.rules,
        "access_events": _calls(seen.logged) if isinstance(seen.logged, Logged) else None,
    }


def _calls(logged: Logged) -> dict[str, Any]:
    return {
        "trail": logged.trail,
        "asked": list(logged.asked.calls),
        "logged": list(logged.logged.calls) if logged.logged else [],
        "as_asked": logged.is_so,
    }
