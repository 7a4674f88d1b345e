"""The engines that one function keeps, each for one version of its target's settings."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from bucketcast.delivery.engine import Engine

KEPT: Final = 64
"""To how many targets connections are kept; the one not used for longest goes first."""


class Kept:
    """Engines by name, which keep their connections while nothing changes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[int, Engine]] = OrderedDict()

    def engine(self, name: str, number: int, make: Callable[[], Engine]) -> Engine:
        """Return the engine for the settings of this number, made if need be."""
        known, found = self._kept.pop(name, (0, None))
        if found is None or known != number:
            if found:
                found.close()
            found = make()
        self._kept[name] = number, found
        while len(self._kept) > KEPT:
            _, (_, oldest) = self._kept.popitem(last=False)
            oldest.close()
        return found
