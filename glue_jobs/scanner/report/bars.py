"""The bars of a usage plot: a share of the longest bar for each class or prefix."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bucketcast.display import printable
from glue_jobs.scanner.usage import Usage

_LABEL: Final = 30
"""The most characters of a label; what is cut is in the table below the plot."""
_PLOTS: Final = {
    "storage_class": "Storage classes",
    "size_class": "Sizes",
    "age_class": "Ages, since the last modification",
    "prefix": "The heaviest prefixes",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its lengths are per cent of the plot's width, first of current, then of older."""

    label: str
    amount: int
    current: float
    noncurrent: float


@dataclass(frozen=True, slots=True)
class Plot:
    """The plot of one dimension: `sizes` is True if bars are bytes, else they are versions."""

    title: str
    rows: Sequence[Usage]
    sizes: bool
    bars: Sequence[Bar]


def plots(usage: Iterable[Usage]) -> Iterator[Plot]:
    """Yield a plot of each dimension that the source tells of."""
    rows = list(usage)
    for dimension, title in _PLOTS.items():
        if found := [row for row in rows if row.dimension == dimension]:
            yield _plot(title, found)


def _plot(title: str, rows: Sequence[Usage]) -> Plot:
    sizes = rows[0].bytes is not None
    amounts = [_amounts(row, sizes=sizes) for row in rows]
    longest = max(map(sum, amounts)) or 1
    bars = [
        Bar(_label(row.name), sum(amount), *(100 * part / longest for part in amount))
        for row, amount in zip(rows, amounts, strict=True)
    ]
    return Plot(title, rows, sizes, bars)


def _amounts(row: Usage, *, sizes: bool) -> tuple[int, int]:
    """Return what the current and what the older versions of a row have."""
    if not sizes:
        return row.objects, row.noncurrent or 0
    older = row.noncurrent_bytes or 0
    return (row.bytes or 0) - older, older


def _label(name: str) -> str:
    """Return a name that fits, with its end, by which prefixes differ."""
    shown = printable(name)
    return shown if len(shown) <= _LABEL else f"…{shown[1 - _LABEL :]}"
