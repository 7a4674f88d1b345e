"""Sets of regular expressions, matched in linear time and in bounded memory.

RE2 matches a set of patterns in one pass over the text. It keeps the states that it has seen of
them until they fill the memory of the set, which grows with its program.

Source: RE2's `set.h` and `re2.h` (`max_mem`).
"""

from collections.abc import Iterable
from typing import Any, Final

LONGEST: Final = 1_000
"""Longest pattern, in characters."""
_SET_BYTES: Final = 1 << 16
_INSTRUCTION_BYTES: Final = 128
"""Of which RE2 needs some 100 to compile, and then for its program and states."""


class RegexSet:
    """Find the patterns that match a whole text.

    Raises:
        ValueError: a pattern is not RE2 syntax (lookaround and back-references cannot be matched in
            linear time), or is too large by itself.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        import re2  # noqa: PLC0415 - only where a rule has a regular expression

        patterns = [*patterns]
        self._set = re2.Set.FullMatchSet(_options(size(patterns)))
        for pattern in patterns:
            self._set.Add(pattern)
        self._set.Compile()

    def matching(self, text: str) -> list[int]:
        """Return the indexes of the patterns that match, in no order."""
        return self._set.Match(text.encode("utf-8", "replace")) or []

    def any(self, text: str) -> bool:
        """Return True if at least one pattern matches."""
        return bool(self.matching(text))


def size(patterns: Iterable[str]) -> int:
    """Return the most bytes that a set of these patterns takes.

    Raises:
        ValueError: RE2 cannot compile a pattern; the text has the reason.
    """
    return _SET_BYTES + _INSTRUCTION_BYTES * sum(map(_instructions, patterns))


def escape(text: str) -> str:
    """Return a regular expression that matches this text only."""
    import re2  # noqa: PLC0415 - only where a rule has a regular expression

    return str(re2.escape(text))


def _instructions(pattern: str) -> int:
    import re2  # noqa: PLC0415 - only where a rule has a regular expression

    try:
        return int(re2.compile(pattern, _options()).programsize)
    except re2.error as error:
        raise ValueError(
            f"the regular expression {pattern!r} cannot be: {_reason(error)}; allowed is RE2's "
            "syntax, which is matched in linear time: no lookaround, no back-reference"
        ) from None


def _options(size: int = 8 << 20) -> Any:
    import re2  # noqa: PLC0415 - only where a rule has a regular expression

    options = re2.Options()
    options.log_errors = False
    options.max_mem = size
    return options


def _reason(error: Exception) -> object:
    """Return RE2's error text, which its Python binding gives as bytes."""
    text = error.args[0] if error.args else error
    return text.decode() if isinstance(text, bytes) else text
