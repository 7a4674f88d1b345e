r"""Sets of regular expressions, matched in linear time and in bounded memory.

RE2 matches a set of patterns in one pass over the text, but does not compile a set whose program
and states exceed its memory. `RegexSet` then compiles halves of the set, down to single patterns;
so each 8 MiB add one pass, and no pattern fails because of the others.

Source: RE2's `set.h` and `re2.h` (`max_mem`).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import re2

LONGEST: Final = 1_000
"""Longest pattern, in characters."""
MAX_INSTRUCTIONS: Final = 1_000_000
"""Most RE2 instructions of one bucket's patterns: about 55 MB and 2 s of ingest."""


class RegexSet:
    """Find the patterns that match a whole text.

    Raises:
        ValueError: a pattern is longer than `LONGEST`, is not RE2 syntax (lookaround and
            back-references cannot be matched in linear time) or is too large by itself.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self.instructions = sum(map(instructions, patterns))
        self._sets = list(_compile(patterns, 0))

    def matching(self, text: str) -> list[int]:
        """Return the indexes of the patterns that match, in no order."""
        encoded = text.encode("utf-8", "replace")
        if len(self._sets) == 1:
            return self._sets[0][1].Match(encoded) or []
        return [
            first + index
            for first, patterns in self._sets
            for index in patterns.Match(encoded) or ()
        ]

    def any(self, text: str) -> bool:
        """Return True if at least one pattern matches."""
        encoded = text.encode("utf-8", "replace")
        return any(patterns.Match(encoded) for _, patterns in self._sets)


def instructions(pattern: str) -> int:
    """Return the size of the pattern's program, in RE2 instructions.

    Raises:
        ValueError: RE2 cannot compile the pattern; the text has the reason.
    """
    import re2  # noqa: PLC0415 - only where a rule has a regular expression

    if len(pattern) > LONGEST:
        raise ValueError(
            f"a regular expression of {len(pattern)} characters; {LONGEST} are allowed"
        )
    try:
        return int(re2.compile(pattern, _options()).programsize)
    except re2.error as error:
        raise ValueError(
            f"the regular expression {pattern!r} cannot be: {_reason(error)}; allowed is RE2's "
            "syntax, which is matched in linear time: no lookaround, no back-reference"
        ) from None


def check_total(patterns: Iterable[str]) -> None:
    """Check that the patterns of one bucket fit into ingest's memory together.

    Raises:
        ValueError: their programs have more than `MAX_INSTRUCTIONS`.
    """
    total = sum(map(instructions, set(patterns)))
    if total > MAX_INSTRUCTIONS:
        raise ValueError(
            f"the regular expressions of the bucket take {total:,} RE2 instructions; "
            f"{MAX_INSTRUCTIONS:,} are allowed: use --prefix and --suffix, or repeat less in them"
        )


def _compile(patterns: Sequence[str], first: int) -> Iterator[tuple[int, "re2.Set"]]:
    """Yield as few sets of adjacent patterns as possible, each with the index of its first."""
    import re2  # noqa: PLC0415 - only where a rule has a regular expression

    if not patterns:
        return
    compiled = re2.Set.FullMatchSet(_options())
    for pattern in patterns:
        compiled.Add(pattern)
    try:
        compiled.Compile()
    except re2.error:
        if len(patterns) == 1:
            raise ValueError(
                f"the regular expression {patterns[0]!r} takes too much memory: shorten it, or "
                "repeat less in it"
            ) from None
        half = len(patterns) // 2
        yield from _compile(patterns[:half], first)
        yield from _compile(patterns[half:], first + half)
    else:
        yield first, compiled


def _options() -> Any:
    import re2  # noqa: PLC0415 - only where a rule has a regular expression

    options = re2.Options()
    options.log_errors = False
    return options


def _reason(error: Exception) -> object:
    """Return RE2's error text, which its Python binding gives as bytes."""
    text = error.args[0] if error.args else error
    return text.decode() if isinstance(text, bytes) else text
