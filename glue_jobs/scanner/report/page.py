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
from typing import Any, Final

from jinja2 import Environment, StrictUndefined, Template

from glue_jobs.scanner.report import prices, words
from glue_jobs.scanner.report.finding import Finding
from glue_jobs.scanner.report.lifecycle import advice

CARDS: Final = 100
"""So many findings have their reasons on the page; the Parquet files have more."""
_TEMPLATE: Final = Path(__file__).with_name("page.html")


@dataclass(frozen=True, slots=True)
class Page:
    """What the page says: `numbers` are findings by kind and state, `top` the worst, in order."""

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


def html(page: Page) -> str:
    """The page as HTML."""
    cards = [
        (finding, advice(finding, page.thresholds[finding.kind]))
        for finding in page.top[:CARDS]
        if finding.why
    ]
    return _template().render(page=page, cards=cards, prices=prices.SOURCE)


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "size": words.size,
        "dollars": words.dollars,
        "plain": words.plain,
        "number": lambda number: f"{number:,}",
        "pretty": _pretty,
    }
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))


def _pretty(document: Any) -> str:
    return json.dumps(document, indent=2)  # in ASCII, so that nothing in it is hidden
