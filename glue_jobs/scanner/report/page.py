"""Render the report as one HTML page: no script, no external resources, and printable.

Keys are untrusted input. The template escapes all values, and the page's policy forbids scripts
too.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from jinja2 import Environment, StrictUndefined, Template

from bucketcast.printable import printable
from glue_jobs.scanner.report import formatting, prices
from glue_jobs.scanner.report.finding import Breakdown, Finding, Share
from glue_jobs.scanner.report.lifecycle import Advice, advice

CARDS: Final = 100
"""How many findings the page explains; the Parquet files have more."""
_BARS: Final = 10
_TEMPLATE: Final = Path(__file__).with_name("page.html")


@dataclass(frozen=True, slots=True)
class Page:
    """The page's data: `numbers` are findings by kind and state, `top` the worst, in order.

    Without `sizes` in the source, the page shows no bytes and no costs.
    """

    bucket: str
    prefix: str
    source: str
    at: datetime
    taken: datetime
    thresholds: Mapping[str, int]
    numbers: Mapping[str, Mapping[str, int]]
    top: Sequence[Finding]
    cleared: Sequence[Finding]
    notes: Sequence[str]
    sizes: bool = True


class Bar(NamedTuple):
    """A bar of a chart: its name, its label and its length."""

    name: str
    text: str
    length: float


@dataclass(frozen=True, slots=True)
class Card:
    """One finding, with its breakdown and advice."""

    finding: Finding
    breakdown: Breakdown
    advice: Advice
    ages: Sequence[Bar]
    folders: Sequence[Bar]


def html(page: Page) -> str:
    """Render the page as HTML."""
    cards = [
        _card(finding, finding.breakdown, page.thresholds[finding.kind], sizes=page.sizes)
        for finding in page.top[:CARDS]
        if finding.breakdown
    ]
    costs = _costs(cards) if page.sizes else []
    return _template().render(page=page, cards=cards, costs=costs, prices=prices.SOURCE)


def _card(finding: Finding, breakdown: Breakdown, threshold: int, *, sizes: bool) -> Card:
    def bars(shares: Sequence[Share]) -> list[Bar]:
        by_versions = finding.kind == "ManyVersions" or not sizes
        return [
            Bar(
                share.name,
                f"{share.versions:,}" + (f" with {formatting.size(share.bytes)}" if sizes else ""),
                share.versions if by_versions else share.bytes,
            )
            for share in shares
        ]

    return Card(
        finding,
        breakdown,
        advice(finding, threshold),
        bars(breakdown.ages),
        bars(breakdown.folders),
    )


def _costs(cards: Sequence[Card]) -> list[Bar]:
    """Return the most expensive keys and prefixes, each once."""
    costs = {card.finding.key or formatting.EVERYTHING: card.breakdown.dollars for card in cards}
    dearest = sorted(costs.items(), key=lambda cost: -cost[1])[:_BARS]
    return [Bar(key, formatting.dollars(amount), amount) for key, amount in dearest if amount]


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "size": formatting.size,
        "dollars": formatting.dollars,
        "key": lambda key: printable(key) or formatting.EVERYTHING,
        "plain": printable,
        "number": lambda number: f"{number:,}",
        # In ASCII, so that nothing in it is hidden.
        "pretty": lambda document: json.dumps(document, indent=2),
    }
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
