"""AWS's prices, dated and with their sources, from `prices.toml`."""

import tomllib
from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Price(NamedTuple):
    """The price of `per` units, in US dollars."""

    unit: str
    price: float
    per: int
    date: date
    source: str


class Prices(NamedTuple):
    """The prices of one region, by the names that `prices.toml` gives them."""

    region: str
    by_name: Mapping[str, Price]

    def of(self, name: str, units: float) -> float:
        """Return the price of so many units, in US dollars."""
        price = self.by_name[name]
        return price.price / price.per * units


@cache
def prices() -> Prices:
    """Return the prices that this release knows."""
    document = tomllib.loads(files("bucketcast.cost").joinpath("prices.toml").read_text())
    region = document.pop("region")
    return Prices(region, {name: Price(**price) for name, price in document.items()})
