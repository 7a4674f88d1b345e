"""The kinds of target: one module or package each, found by its name, imported when wanted."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from bucketcast.errors import did_you_mean

if TYPE_CHECKING:
    from bucketcast.targets.base import Target


@cache
def kinds() -> tuple[str, ...]:
    """Return every kind there is: the packages of this folder, `base` apart.

    Raises:
        ImportError: there is none, as where the package's files are still being unpacked or are
            already being removed. An empty answer, kept, would let every event go nowhere.
    """
    found = (module.name for module in iter_modules(__path__))
    names = tuple(sorted(name for name in found if name != "base"))
    if not names:
        raise ImportError(f"no kind of target in {', '.join(__path__)}: the package is incomplete")
    return names


def load(kind: str) -> "type[Target]":
    """Return the target class of a kind; importing it imports no client library.

    Raises:
        ValueError: there is no such kind.
    """
    if kind not in kinds():
        near = did_you_mean(kind, kinds())
        raise ValueError(f"unknown kind '{kind}': {near}there are {', '.join(kinds())}")
    target: type[Target] = import_module(f"bucketcast.targets.{kind}").Target
    return target
