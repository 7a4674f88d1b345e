"""The kinds of target: a package each, found by its name and imported on demand."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from bucketcast.destination import TargetArn
from bucketcast.errors import did_you_mean

if TYPE_CHECKING:
    from bucketcast.targets.base import Target


@cache
def kinds() -> tuple[str, ...]:
    """Return the names of all kinds: the packages in this folder except `base`.

    Raises:
        ImportError: there is none, for example while the package is unpacked or removed. A cached
            empty list would send every event nowhere.
    """
    modules = (module.name for module in iter_modules(__path__))
    names = tuple(sorted(name for name in modules if name != "base"))
    if not names:
        raise ImportError(f"no kind of target in {', '.join(__path__)}: the package is incomplete")
    return names


def load(kind: str) -> "type[Target]":
    """Return the target class of a kind, without importing its client library.

    Raises:
        ValueError: the kind does not exist.
    """
    if kind not in kinds():
        suggestion = did_you_mean(kind, kinds())
        raise ValueError(f"unknown kind '{kind}': {suggestion}kinds are {', '.join(kinds())}")
    target: type[Target] = import_module(f"bucketcast.targets.{kind}").Target
    return target


def named(text: str) -> TargetArn:
    """Return the ARN of the target that people call so: `KIND:ID`, or the ARN itself.

    Raises:
        ValueError: the text is neither, or there is no such kind.
    """
    if text.startswith("arn:minio:"):
        return TargetArn.parse(text)
    kind, colon, id_ = text.partition(":")
    if not (kind and colon and id_) or kind == "arn":
        raise ValueError(
            f"invalid target '{text}'; allowed is KIND:ID, such as webhook:primary, or its ARN"
        )
    kind = kind.removeprefix("notify_")
    return TargetArn(id_, load(TargetArn(id_, kind).kind or kind).arn_type)
