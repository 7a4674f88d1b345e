"""In which VPC functions run, by the ids of EC2."""

from collections.abc import Iterator
from typing import Protocol

from bucketcast.errors import ConfigError


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
