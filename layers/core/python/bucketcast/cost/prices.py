"""AWS's prices, dated and with their sources, from `prices.toml`."""

import tomllib
from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Price(NamedTuple):
    """What `per` units cost, in US dollars."""

    unit: str
    price: float
    per: int
    date: date
    source: str

    @property
    def each(self) -> float:
        """The dollars that one unit costs."""
        return self.price / self.per


class Prices(NamedTuple):
    """The prices of one region, by the names that `prices.toml` gives them."""

    region: str
    by_name: Mapping[str, Price]

    def of(self, name: str, units: float) -> float:
        """Return what so many units cost, in US dollars."""
        return self.by_name[name].each * units


@cache
def prices() -> Prices:
    """Return the prices that this release knows."""
    document = tomllib.loads(files("bucketcast.cost").joinpath("prices.toml").read_text())
    region = document.pop("region")
    return Prices(region, {name: Price(**each) for name, each in document.items()})
