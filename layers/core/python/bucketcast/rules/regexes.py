"""Sets of regular expressions, matched in linear time and in bounded memory.

RE2 matches a set of patterns in one pass over the text. It keeps the states that it has seen of
them until they fill the memory of the set, which grows with its program.

Source: RE2's `set.h` and `re2.h` (`max_mem`).
"""

from collections.abc import Collection
from contextlib import suppress
from typing import Any, Final, NamedTuple

from bucketcast.limits import MOST_BUCKET_RULES_STEPS

_SET_BYTES: Final = 1 << 16
_INSTRUCTION_BYTES: Final = 128
"""Of which RE2 needs some 100 to compile, and then for its program and states."""
_ROOMS: Final = tuple(1 << bits for bits in range(14, 24))
"""Bytes to compile a pattern alone."""


class Cost(NamedTuple):
    """The most bytes of memory that something takes, and the most steps to match an event."""

    memory: int
    steps: int


class RegexSet:
    """Find the patterns that match a whole text.

    Raises:
        ValueError: a pattern is not RE2 syntax (lookaround and back-references cannot be matched in
            linear time), or is too large by itself, or all need too many steps together.
    """

    def __init__(self, patterns: Collection[str]) -> None:
        self._set, cost = _compiled(patterns)
        if self._set is None:
            most = f"allowed are {MOST_BUCKET_RULES_STEPS:,}"
            raise ValueError(f"the regular expressions take {cost.steps:,} steps together; {most}")

    def matching(self, text: str) -> list[int]:
        """Return the indexes of the patterns that match, in no order."""
        return self._set.Match(text.encode("utf-8", "replace")) or []

    def any(self, text: str) -> bool:
        """Return True if at least one pattern matches."""
        return bool(self.matching(text))


def cost(patterns: Collection[str]) -> Cost:
    """Return the cost of a set of these patterns, which is compiled for that.

    Raises:
        ValueError: RE2 cannot compile a pattern; the text has the reason.
    """
    return _compiled(patterns)[1]


def _compiled(patterns: Collection[str]) -> tuple[Any, Cost]:
    """Return a set of the patterns, or None if it takes too many steps, and its cost."""
    import re2  # noqa: PLC0415 - only where a rule has a regular expression

    steps = 0
    for pattern in patterns:
        steps += _instructions(pattern)
        if steps > MOST_BUCKET_RULES_STEPS:  # and more; however many, they are refused
            return None, Cost(0, steps)
    memory = _SET_BYTES + _INSTRUCTION_BYTES * steps
    while True:
        found = re2.Set.FullMatchSet(_options(memory))
        for pattern in patterns:
            found.Add(pattern)
        with suppress(re2.error):
            found.Compile()
            return found, Cost(memory, steps)
        memory *= 2


def _instructions(pattern: str) -> int:
    """Return how many instructions to count for a pattern.

    RE2 leaves out empty parts of a program only once it has all of it, and does not say how large
    that was: `(?:|||)` is short in the end. The memory in which it compiles tells, and counts.
    """
    import re2  # noqa: PLC0415 - only where a rule has a regular expression

    reason: object = ""
    for room in _ROOMS:
        try:
            program = int(re2.compile(pattern, _options(room)).programsize)
        except re2.error as error:
            reason = _reason(error)
        else:  # RE2 needs 96 bytes each, so that with empty parts only it is more than 192
            return room // 64 if room - _ROOMS[0] > 192 * program else program
    raise ValueError(
        f"the regular expression {pattern!r} cannot be: {reason}; allowed is RE2's syntax, which "
        "is matched in linear time: no lookaround, no back-reference"
    )


def _options(size: int) -> Any:
    import re2  # noqa: PLC0415 - only where a rule has a regular expression

    options = re2.Options()
    options.log_errors = False
    options.max_mem = size
    return options


def _reason(error: Exception) -> object:
    """Return RE2's error text, which its Python binding gives as bytes."""
    text = error.args[0] if error.args else error
    return text.decode() if isinstance(text, bytes) else text
