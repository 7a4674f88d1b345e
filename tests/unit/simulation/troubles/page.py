"""The table of all cells, as it stands in `docs/whose-trouble.md`."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from tests.unit.simulation.troubles import (
    aws,
    buckets,
    events,
    ours,
    runtime,
    targets,
    topics,
    users,
    waiting,
)
from tests.unit.simulation.troubles.cell import Cell, Seen

PAGE = Path(__file__).parents[4] / "docs" / "whose-trouble.md"
BEGIN, END = "<!-- troubles -->\n", "<!-- /troubles -->\n"
CELLS: tuple[Cell, ...] = (
    *events.CELLS,
    *targets.CELLS,
    *waiting.CELLS,
    *topics.CELLS,
    *runtime.CELLS,
    *buckets.CELLS,
    *users.CELLS,
    *ours.CELLS,
    *aws.CELLS,
)
COLUMNS = (
    "whose",
    "trouble",
    "others wait, s: half, 99 %",
    "tries a day",
    "$ an hour",
    "back after",
    "dead letters",
)
STEPS = (1, 2, 5, 10)
DURATIONS = (1, 2, 5, 10, 20, 30)
REASON = 80
FEW = 10


def table(cells: Iterable[Cell], seen: Iterable[Seen]) -> str:
    """Return the rows of cells, in Markdown; figures are rounded up."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"{'|---' * len(COLUMNS)}|"]
    for whose, group in groupby(zip(cells, seen, strict=True), key=lambda pair: pair[0].whose):
        for number, (cell, one) in enumerate(group):
            shown = (
                "" if number else f"**{whose}**",
                cell.when,
                f"{figure(one.others.p50)}, {figure(one.others.p99)}",
                figure(one.tries),
                figure(one.dollars),
                seconds(one.back),
                "; ".join(_dead(one)),
            )
            lines.append(f"| {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def figure(number: float) -> str:
    """Return 1, 2 or 5 times a power of ten, at least the number; "" for none."""
    if not number:
        return ""
    power = 10.0**-6
    while power * 10 < number:
        power *= 10
    up = next(step * power for step in STEPS if step * power >= number * 0.999999)
    return f"{up:,.0f}" if up >= 1 else f"{up:.6f}".rstrip("0")


def seconds(number: float) -> str:
    """Return a duration, rounded up."""
    if number <= 0:
        return ""
    if number <= 1:
        return f"{figure(number)} s"
    units = {"s": 1, "min": 60, "h": 3_600}
    steps = ((step * each, f"{step} {unit}") for unit, each in units.items() for step in DURATIONS)
    return next((text for most, text in steps if number <= most), "for days")


def _dead(one: Seen) -> Iterator[str]:
    """Yield how many were dead-lettered for each reason."""
    grouped: Counter[str] = Counter()
    for reason, number in one.dead.items():
        grouped[reason.partition(" (given up after")[0][:REASON]] += number
    for reason, number in grouped.items():
        few = number <= FEW
        yield f"{number if few else figure(number)}: {reason}{'…' * (len(reason) == REASON)}"


def written(text: str, rows: str) -> str:
    """Return a page's text with other rows between its marks."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}{rows}{END}{after}"
