"""`bucketcast cost`: what a deployment will cost."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from bucketcast.config import load
from bucketcast.config.model import Deployment
from bucketcast.cost.bill import Bill, Line
from bucketcast.cost.estimate import Load, at_once, estimate
from bucketcast.destination import TargetArn, short_name
from bucketcast.rules.access_events import PRICE
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared

_COLUMNS = ("SERVICE", "WHAT", "TARGET", "UNITS A MONTH", "$ A MONTH", "$ A MILLION")
_FIXED = "fixed"
Share = tuple[TargetArn, float]


def _share(text: str) -> Share:
    """Return the target and the part of the events of `TARGET=PERCENT`."""
    name, equals, percent = text.rpartition("=")
    try:
        share = float(percent.removesuffix("%"))
    except ValueError:
        share = -1.0
    if not equals or not 0 <= share <= 100:  # noqa: PLR2004 - percent
        raise click.BadParameter(f"found '{text}'; allowed is TARGET=PERCENT, 0 to 100")
    return params.target(name), share / 100


@click.command()
@click.option(
    "--events-per-day",
    "events_a_day",
    type=click.IntRange(1, 10**12),
    required=True,
    help="Events of all buckets together.",
)
@params.config_file
@click.option(
    "--share",
    "shares",
    multiple=True,
    type=_share,
    metavar="TARGET=PERCENT",
    help="Part of all events that the rules send to a target; 100 without. May be repeated.",
)
@click.option(
    "--target-ms",
    type=click.IntRange(0, 10**12),
    default=50,
    show_default=True,
    help="Milliseconds until a target has answered.",
)
@click.option(
    "--reads-per-day",
    "reads_a_day",
    type=click.IntRange(0, 10**12),
    default=0,
    help="Calls that a trail logs for access_events. [default: 0]",
)
@shared
def command(
    out: Output,
    *,
    path: Path,
    shares: Sequence[Share],
    target_ms: int,
    **demand: Any,
) -> None:
    """Estimate what a deployment costs a month, by service and target, and for a million events.

    Lines that are paid without any event are marked as fixed. Prices are those of us-east-1,
    without free tiers; --json has the date and source of each. How long functions take is assumed,
    from --target-ms.

    \b
    Example: 10 events a second, of which the webhook gets a fifth
      bucketcast cost --events-per-day 864000 --share webhook:primary=20
    """  # noqa: D301 - click reads the character
    config = load(path, os.environ, local=False)
    demanded = Load(
        shares=dict(_shares(shares, config)),
        target_seconds=target_ms / 1_000,
        **demand,
    )
    _show(out, estimate(config, demanded), at_once(config, demanded))
    if config.access_events and not demanded.reads_a_day:
        logged = ", ".join(config.access_events)
        out.note(f"access events of {logged}: {PRICE}; --reads-per-day adds them")


def _shares(shares: Sequence[Share], config: Deployment) -> Iterator[tuple[str, float]]:
    known = [str(target.arn) for target in config.targets]
    for arn, share in shares:
        if arn.plain not in known:
            configured = ", ".join(map(short_name, known)) or "none"
            raise click.BadParameter(
                f"no target {arn.short} is configured; available: {configured}",
                param_hint="--share",
            )
        yield arn.plain, share


def _show(out: Output, bill: Bill, together: float) -> None:
    document = {"events_at_once": together, **bill.document()}
    out.table(document, _COLUMNS, list(_rows(bill)), "nothing is paid for")
    if out.json:
        return
    out.note(f"prices of {bill.prices.region}, without free tiers and what a VPC costs")
    out.note(f"events that ingest gets at once: about {round(together, 1):g}")


def _rows(bill: Bill) -> Iterator[tuple[str, ...]]:
    for line in sorted(bill.lines, key=lambda entry: (entry.fixed, entry.target, entry.service)):
        yield _row(bill, line)
    sums = bill.by(lambda line: line.service)
    for name in sorted(sums, key=lambda name: -sums[name]):
        yield name, "together", "", "", _dollars(sums[name]), ""
    for target, dollars in bill.by(lambda line: line.target).items():
        if target:
            yield "", "its own part", short_name(target), "", _dollars(dollars), ""
    per_million = _dollars(bill.per_million(bill.total(fixed=False)))
    units = f"{bill.events:,.0f} events"
    yield (
        "TOTAL",
        "without what is fixed",
        "",
        units,
        _dollars(bill.total(fixed=False)),
        per_million,
    )
    yield "TOTAL", "", "", units, _dollars(bill.total()), ""


def _row(bill: Bill, line: Line) -> tuple[str, ...]:
    dollars = bill.dollars(line)
    million = _FIXED if line.fixed else _dollars(bill.per_million(dollars))
    units = f"{line.units:,.0f}" if line.units >= 10 else f"{line.units:,.2f}"  # noqa: PLR2004
    return line.service, line.what, short_name(line.target), units, _dollars(dollars), million


def _dollars(amount: float) -> str:
    return f"{amount:,.2f}" if amount >= 0.1 or not amount else f"{amount:.4f}"  # noqa: PLR2004
