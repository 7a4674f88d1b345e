"""A bill: the units used a month, their cost, and the sums."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bucketcast.cost.prices import Prices

DAYS_A_MONTH = 30
MILLION = 1_000_000


class Line(NamedTuple):
    """One item: so many `units` a month at the price of a name.

    `target` is "" for items that all targets share. A `fixed` item is paid without any event.
    """

    service: str
    what: str
    target: str
    units: float
    price: str
    fixed: bool = False


class Bill(NamedTuple):
    """The lines of a month with so many events."""

    lines: Sequence[Line]
    events: float
    prices: Prices

    def dollars(self, line: Line) -> float:
        """Return the monthly cost of a line."""
        return self.prices.of(line.price, line.units)

    def total(self, *, fixed: bool | None = None) -> float:
        """Return the monthly cost; with `fixed` only the fixed part, or only the rest."""
        return sum(self.dollars(line) for line in self.lines if fixed in (None, line.fixed))

    def per_million(self, dollars: float) -> float:
        """Return dollars a month as dollars for a million events."""
        return dollars / self.events * MILLION if self.events else 0.0

    def by(self, key: Callable[[Line], str]) -> dict[str, float]:
        """Return the dollars a month by service or by target."""
        sums: dict[str, float] = defaultdict(float)
        for line in self.lines:
            sums[key(line)] += self.dollars(line)
        return dict(sums)

    def document(self) -> dict[str, Any]:
        """Return the bill for programs."""
        return {
            "region": self.prices.region,
            "events_a_month": round(self.events),
            "dollars_a_month": round(self.total(), 4),
            "fixed_dollars_a_month": round(self.total(fixed=True), 4),
            "dollars_a_million_events": round(self.per_million(self.total(fixed=False)), 4),
            "by_service": _rounded(self.by(lambda line: line.service)),
            "by_target": _rounded(self.by(lambda line: line.target)),
            "lines": [
                {
                    **line._asdict(),
                    "dollars": round(self.dollars(line), 6),
                    "price": _price(self.prices, line.price),
                }
                for line in self.lines
            ],
        }


def _rounded(sums: dict[str, float]) -> dict[str, float]:
    return {name: round(dollars, 4) for name, dollars in sums.items()}


def _price(prices: Prices, name: str) -> dict[str, Any]:
    price = prices.by_name[name]
    return {**price._asdict(), "date": price.date.isoformat()}
