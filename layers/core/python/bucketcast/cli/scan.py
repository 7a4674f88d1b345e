"""`bucketcast scan`: what in a bucket asks for attention."""

from collections.abc import Mapping
from typing import Any

import click

from bucketcast.cli import running, words
from bucketcast.cli.screen import Screen, shared
from bucketcast.store import deployed
from bucketcast.store.pipeline import Runs

_COLUMNS = ("KIND", "STATE", "KEY", "COUNT", "BYTES", "$ A MONTH")


@click.command()
@click.argument("bucket", type=words.bucket_name)
@running.options("scan")
@running.waiting
@shared
@click.pass_obj
def command(screen: Screen, /, *, bucket: str, no_wait: bool, **values: str) -> None:
    """Find objects with too many versions and prefixes with too many folders.

    Each finding is an event, s3:Scanner:ManyVersions, LargeVersions or BigPrefix, which goes where
    rules send it (`bucketcast event add BUCKET ARN --event scanner`). It is told when it is new,
    when it has become worse, and not again. Why, and what it costs, is in the report.

    \b
    Example:
      bucketcast scan uploads
      bucketcast scan uploads --source s3://inventories/uploads/daily
    """  # noqa: D301 - click reads the character
    aws = screen.aws()
    runs = Runs(deployed.find(screen.stack, aws), aws)
    done = running.finish(screen, runs, "scan", {"bucket": bucket, **values}, no_wait=no_wait)
    if done.result is None:
        running.answer_started(screen, done)
        return
    result = done.result
    rows = [_row(finding) for finding in result["findings"]]
    document = {"run": done.run, "link": done.link, **result}
    screen.table(document, _COLUMNS, rows, f"nothing in {bucket} asks for attention")
    if not screen.json:
        total = sum(sum(states.values()) for states in result["numbers"].values())
        running.part(screen, len(rows), total, "findings")
        if rows:
            screen.line(_totals(result["numbers"]))
        screen.line(f"{result['events']:,} events sent to the rules")
        screen.line(f"report: {result['report']}")
        screen.line(f"  aws s3 cp {result['report']} report.html")
    running.notes(screen, result)


def _totals(numbers: Mapping[str, Mapping[str, int]]) -> str:
    """`ManyVersions: 1 new, 2 same; BigPrefix: 1 cleared`."""
    return "; ".join(
        f"{kind}: " + ", ".join(f"{number:,} {state}" for state, number in states.items())
        for kind, states in numbers.items()
    )


def _row(finding: Mapping[str, Any]) -> tuple[str, ...]:
    price = finding["price"]
    return (
        finding["kind"],
        finding["state"],
        finding["key"],
        _count(finding["count"]),
        _count(finding["bytes"]),
        "" if price is None else f"{price:,.2f}",
    )


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"
