"""Render the report as one HTML page: no script, no external resources, and printable.

Keys are untrusted input. The template escapes all values, and the page's policy forbids scripts
too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, StrictUndefined, Template

from bucketcast.display import printable, size
from bucketcast.event.scanner import KINDS
from glue_jobs.scanner.usage import Usage

_WHOLE_BUCKET: Final = "(the whole bucket)"
"""The name of the bucket itself, whose key is ""."""
_DIMENSIONS: Final = {
    "storage_class": "Storage classes",
    "size_class": "Sizes",
    "age_class": "Ages, since the last modification",
    "prefix": "The heaviest prefixes",
}
_TEMPLATE: Final = Path(__file__).with_name("page.html")


@dataclass(frozen=True, slots=True)
class Finding:
    """A row of `alert_states.ALERT_STATES`, as in the page and in the run's result."""

    kind: str
    key: str
    state: str
    since: datetime
    count: int | None
    alerted: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Page:
    """The page's data.

    `numbers` are findings by kind and state, `top` the worst, in order. `usage` is what the
    bucket holds, the total first.
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
    usage: Sequence[Usage]
    notes: Sequence[str]

    @property
    def current(self) -> int:
        """The number of findings, without the cleared ones."""
        return sum(
            number
            for states in self.numbers.values()
            for state, number in states.items()
            if state != "cleared"
        )


def html(page: Page) -> str:
    """Render the page as HTML."""
    return _template().render(page=page, kinds=KINDS, dimensions=_DIMENSIONS)


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "size": size,
        "key": lambda key: printable(key) or _WHOLE_BUCKET,
        "plain": printable,
        "number": lambda number: f"{number:,}",
    }
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
