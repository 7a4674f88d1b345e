"""Which of many texts a text begins with, by one search among the sorted ones."""

from bisect import bisect_right
from collections.abc import Mapping
from typing import Generic, TypeVar

Payload = TypeVar("Payload")


class Affixes(Generic[Payload]):
    """Payloads by the text that another begins with, in memory that is linear in the texts.

    Each node is a text, its payload, and the number of the longest other text that it begins with.
    """

    __slots__ = ("_nodes", "_texts")

    def __init__(self, payloads: Mapping[str, Payload]) -> None:
        self._texts = sorted(payloads)
        self._nodes: list[tuple[str, Payload, int]] = []
        for number, text in enumerate(self._texts):
            shorter = number - 1
            while shorter >= 0 and not text.startswith(self._texts[shorter]):
                shorter = self._nodes[shorter][2]
            self._nodes.append((text, payloads[text], shorter))

    def along(self, text: str) -> list[Payload]:
        """Return the payloads of all that the text begins with, the longest first."""
        found = []
        number = bisect_right(self._texts, text) - 1
        while number >= 0:
            beginning, payload, number = self._nodes[number]
            if text.startswith(beginning):
                found.append(payload)
        return found
