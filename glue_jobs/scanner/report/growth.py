"""Draw the growth of a count as a small line of SVG, with its numbers as text."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

WIDTH: Final = 96
HEIGHT: Final = 16
_MARGIN: Final = 1
"""Half of the line would be outside."""


@dataclass(frozen=True, slots=True)
class Growth:
    """A count by day, two or more, in order."""

    days: Sequence[tuple[date, int]]

    @property
    def first(self) -> int:
        return self.days[0][1]

    @property
    def last(self) -> int:
        return self.days[-1][1]

    @property
    def least(self) -> int:
        return min(count for _, count in self.days)

    @property
    def most(self) -> int:
        return max(count for _, count in self.days)

    @property
    def span(self) -> int:
        """The days from the first count to the last."""
        return (self.days[-1][0] - self.days[0][0]).days

    @property
    def points(self) -> str:
        """The line, as a polyline's points; the lowest count is at the bottom."""
        low, high = self.least, self.most
        return " ".join(
            f"{_scale((day - self.days[0][0]).days, self.span, WIDTH):.1f},"
            f"{HEIGHT - _scale(count - low, high - low, HEIGHT):.1f}"
            for day, count in self.days
        )


def grown(
    earlier: Sequence[tuple[date, int]], since: date, today: date, count: int
) -> Growth | None:
    """Return a finding's growth since it was found; None if that was today."""
    days = {day: number for day, number in earlier if day >= since} | {today: count}
    return Growth(sorted(days.items())) if len(days) > 1 else None


def _scale(value: int, most: int, pixels: int) -> float:
    """Return the pixel of a value from 0 to `most`; the middle if there is one value only."""
    share = value / most if most else 0.5
    return _MARGIN + share * (pixels - 2 * _MARGIN)
