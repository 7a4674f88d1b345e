"""The report as one page: no script, nothing from elsewhere, and good on paper.

Keys are whatever somebody chose to upload. The template escapes all that it is given, and the page
forbids scripts besides.
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
from glue_jobs.scanner.report import prices, words
from glue_jobs.scanner.report.finding import Finding, Share, Why
from glue_jobs.scanner.report.lifecycle import Advice, advice

CARDS: Final = 100
"""So many findings have their reasons on the page; the Parquet files have more."""
_BARS: Final = 10
_TEMPLATE: Final = Path(__file__).with_name("page.html")


@dataclass(frozen=True, slots=True)
class Page:
    """What the page says: `numbers` are findings by kind and state, `top` the worst, in order.

    Where the source lists no `sizes`, nothing is said of bytes and of what they cost.
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
    """A bar of a chart: what it is, how much in words, and its length."""

    name: str
    told: str
    length: float


@dataclass(frozen=True, slots=True)
class Card:
    """One finding, with why and what to do."""

    finding: Finding
    why: Why
    advice: Advice
    ages: Sequence[Bar]
    folders: Sequence[Bar]


def html(page: Page) -> str:
    """The page as HTML."""
    cards = [
        _card(finding, finding.why, page.thresholds[finding.kind], sizes=page.sizes)
        for finding in page.top[:CARDS]
        if finding.why
    ]
    costs = _costs(cards) if page.sizes else []
    return _template().render(page=page, cards=cards, costs=costs, prices=prices.SOURCE)


def _card(finding: Finding, why: Why, threshold: int, *, sizes: bool) -> Card:
    def bars(shares: Sequence[Share]) -> list[Bar]:
        by_versions = finding.kind == "ManyVersions" or not sizes
        return [
            Bar(
                share.name,
                f"{share.versions:,}" + (f" with {words.size(share.bytes)}" if sizes else ""),
                share.versions if by_versions else share.bytes,
            )
            for share in shares
        ]

    return Card(finding, why, advice(finding, threshold), bars(why.ages), bars(why.folders))


def _costs(cards: Sequence[Card]) -> list[Bar]:
    """The dearest keys and prefixes; one that is two kinds of finding costs once."""
    costs = {card.finding.key or words.EVERYTHING: card.why.dollars for card in cards}
    dearest = sorted(costs.items(), key=lambda cost: -cost[1])[:_BARS]
    return [Bar(key, words.dollars(amount), amount) for key, amount in dearest if amount]


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "size": words.size,
        "dollars": words.dollars,
        "key": lambda key: printable(key) or words.EVERYTHING,
        "plain": printable,
        "number": lambda number: f"{number:,}",
        # In ASCII, so that nothing in it is hidden.
        "pretty": lambda document: json.dumps(document, indent=2),
    }
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
