"""The kinds of target: one module or package each, found by its name, imported when wanted."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from bucketcast.errors import did_you_mean
from bucketcast.targets.base import Target


@cache
def kinds() -> tuple[str, ...]:
    """Every kind there is: what stands in this folder, `base` apart."""
    found = (module.name for module in iter_modules(__path__))
    return tuple(sorted(name for name in found if name != "base"))


def load(kind: str) -> type[Target]:
    """The target class of a kind; importing it imports no client library.

    Raises:
        ValueError: there is no such kind.
    """
    if kind not in kinds():
        near = did_you_mean(kind, kinds())
        raise ValueError(f"unknown kind '{kind}': {near}there are {', '.join(kinds())}")
    target: type[Target] = import_module(f"bucketcast.targets.{kind}").Target
    return target
