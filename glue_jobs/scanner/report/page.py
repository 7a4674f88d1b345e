"""Render the report as one HTML page: no script, no external resources, and printable.

Keys are untrusted input. The template escapes all values, and the page's policy forbids scripts
too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from jinja2 import Environment, StrictUndefined, Template

from bucketcast.printable import printable
from glue_jobs.scanner.report.finding import Breakdown, Finding, Share

CARDS: Final = 100
"""How many findings the page explains; the Parquet files have more."""
_EVERYTHING: Final = "(the whole bucket)"
"""How the key of the bucket itself, "", is shown."""
_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_STEP: Final = 1_024
_TEMPLATE: Final = Path(__file__).with_name("page.html")


@dataclass(frozen=True, slots=True)
class Page:
    """The page's data: `numbers` are findings by kind and state, `top` the worst, in order.

    Without `sizes` in the source, the page shows no bytes.
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
    """One finding, with its breakdown."""

    finding: Finding
    breakdown: Breakdown
    ages: Sequence[Bar]
    folders: Sequence[Bar]


def html(page: Page) -> str:
    """Render the page as HTML."""
    cards = [
        _card(finding, finding.breakdown, sizes=page.sizes)
        for finding in page.top[:CARDS]
        if finding.breakdown
    ]
    return _template().render(page=page, cards=cards)


def size(number: int) -> str:
    """Format a size: 1536 is `1.5 KiB`."""
    amount, unit = float(number), 0
    while amount >= _STEP and unit < len(_UNITS) - 1:
        amount, unit = amount / _STEP, unit + 1
    return f"{amount:,.1f} {_UNITS[unit]}" if unit else f"{number} {_UNITS[0]}"


def _card(finding: Finding, breakdown: Breakdown, *, sizes: bool) -> Card:
    def bars(shares: Sequence[Share]) -> list[Bar]:
        by_versions = finding.kind == "ManyVersions" or not sizes
        return [
            Bar(
                share.name,
                f"{share.versions:,}" + (f" with {size(share.bytes)}" if sizes else ""),
                share.versions if by_versions else share.bytes,
            )
            for share in shares
        ]

    return Card(finding, breakdown, bars(breakdown.ages), bars(breakdown.folders))


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "size": size,
        "key": lambda key: printable(key) or _EVERYTHING,
        "plain": printable,
        "number": lambda number: f"{number:,}",
    }
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
