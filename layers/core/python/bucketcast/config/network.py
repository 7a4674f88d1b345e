"""In which VPC functions run, by the ids of EC2, and to which private addresses they connect."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from bucketcast.errors import ConfigError
from bucketcast.settings import egress
from bucketcast.settings.egress import Egress


class Networked(Protocol):
    """Options of functions that may run in a VPC."""

    @property
    def vpc(self) -> str: ...

    @property
    def subnets(self) -> tuple[str, ...]: ...


def network(options: Networked, where: str) -> Iterator[ConfigError]:
    """What is wrong with the table `where` that says in which VPC functions run."""
    if bool(options.subnets) != bool(options.vpc):
        key, other = ("vpc", "subnets") if options.subnets else ("subnets", "vpc")
        needed = f"a function in a VPC needs it beside {other}"
        yield ConfigError(f"{where}.{key}", "missing", needed)


def addresses(allowed: Sequence[str], where: str) -> Iterator[ConfigError]:
    """What is wrong with `allow_private` in the table `where`."""
    for each in egress.invalid(allowed):
        must = f"allowed are {egress.ALLOWED}"
        yield ConfigError(f"{where}.{egress.OPTION}", f"found {each!r}", must)


def refused_url(key: str, url: str, allowed: Egress, table: str) -> Iterator[ConfigError]:
    """What is wrong with a webhook's URL on AWS, as far as it shows without DNS."""
    if why := allowed.refusal_of_url(url):
        must = f"a public address; {egress.OPTION} in [{table}] of bucketcast.toml names others"
        yield ConfigError(key, f"found a host that is refused: {why}", f"allowed is {must}")
