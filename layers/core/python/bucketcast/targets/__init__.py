"""The kinds of target: one module each, found by its name and imported when wanted."""

from functools import cache
from importlib import import_module
from pathlib import Path

from bucketcast.errors import did_you_mean
from bucketcast.targets.base import Target


@cache
def kinds() -> tuple[str, ...]:
    """Every kind there is: the modules of this folder, `base` apart."""
    return tuple(
        sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py") if path.stem != "base")
    )


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
