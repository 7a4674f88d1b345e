"""`bucketcast status`: which buckets' events come, and what else their notifications hold."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import click

from bucketcast.cli import words
from bucketcast.cli.screen import Screen, shared
from bucketcast.store import deployed
from bucketcast.store.access import Aws, explained
from bucketcast.store.rules import Rules
from bucketcast.store.wired import Buckets, Wired

_COLUMNS = ("BUCKET", "EVENTS COME", "RULES", "OTHER ENTRIES, UNTOUCHED")
_AT_ONCE = 16


@click.command()
@click.argument("bucket", type=words.bucket_name, required=False)
@shared
@click.pass_obj
def command(screen: Screen, bucket: str | None) -> None:
    """Show which buckets' events come, by what way, and what else their notifications hold.

    Without BUCKET: every bucket of the account that is attached or has rules.

    \b
    Example:
      bucketcast status
      bucketcast status archive --json
    """  # noqa: D301 - click reads the character
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    buckets = Buckets(there, aws)
    names = [bucket] if bucket else buckets.names()
    seen = _look(buckets, names, aws)
    rules = _rules(there.rules_table, names, aws)
    shown = [each for each in seen if bucket or each.via or each.by_deploy or rules[each.bucket]]
    document = {"buckets": [_document(each, rules[each.bucket]) for each in shown]}
    rows = [
        (each.bucket, _way(each), str(rules[each.bucket]), "; ".join(each.others)) for each in shown
    ]
    nothing = "no bucket is attached: `bucketcast attach BUCKET`, or [bucket.NAME] and a deploy"
    screen.table(document, _COLUMNS, rows, nothing)


def _look(buckets: Buckets, names: Iterable[str], aws: Aws) -> list[Wired]:
    _ = aws.s3, aws.events  # making a client is not safe among threads, using one is
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(buckets.look, names))


def _rules(table: str, names: Iterable[str], aws: Aws) -> dict[str, int]:
    rules = Rules(table, aws.dynamodb)
    with explained():
        had = rules.versions(names)
        return {name: len(rules.of(name)) if name in had else 0 for name in names}


def _way(seen: Wired) -> str:
    if not seen.via:
        return f"no ({seen.why})" if seen.why else "no"
    return f"via {seen.via}, by the deploy" if seen.by_deploy else f"via {seen.via}"


def _document(seen: Wired, rules: int) -> dict[str, Any]:
    return {
        "bucket": seen.bucket,
        "via": seen.via or None,
        "by_deploy": seen.by_deploy,
        "others": list(seen.others),
        "why": seen.why,
        "rules": rules,
    }
