"""Render the report as one HTML page: no script, no external resources, and printable.

Keys are untrusted input. The template escapes all values, and the page's policy forbids scripts
too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from jinja2 import Environment, StrictUndefined, Template

from bucketcast.display import printable, size
from bucketcast.event.scanner import KINDS
from bucketcast.settings.pipeline import Scan
from glue_jobs.listing.schema import Listing
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


class Finding(NamedTuple):
    """A row of `alert_states.ALERT_STATES`, as in the page and in the run's result."""

    kind: str
    key: str
    state: str
    since: int
    count: int | None  # type: ignore[assignment]  # a tuple has a method of that name
    alerted: int
    bytes: int | None

    @property
    def first(self) -> datetime:
        """The time `since`."""
        return datetime.fromtimestamp(self.since / 1000, UTC)


@dataclass(slots=True)
class Page:
    """The page's data.

    `prefix` is what was scanned, None if that is not known. `numbers` are findings by kind and
    state, `findings` the worst, in order, and then those that are gone. `usage` is what the bucket
    holds, the total first.
    """

    settings: Scan
    content: Listing
    prefix: str | None
    at: datetime
    numbers: Mapping[str, Mapping[str, int]]
    usage: Sequence[Usage]
    notes: Sequence[str]
    findings: Sequence[Finding] = ()

    @property
    def thresholds(self) -> Mapping[str, int]:
        """The threshold of each kind."""
        return {name: getattr(self.settings, kind.option) for name, kind in KINDS.items()}

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
