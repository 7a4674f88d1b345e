"""Plan how to split a bucket's keys into ranges that tasks list in parallel.

S3 has no counts and no middle: it only returns the page that follows a key. So the plan walks
the tree that the keys' bits make, where each fork has two sides. It climbs from the last key of a
range's first page: what comes after all keys on this side of the fork? Each answer is a cut, and
the number of forks says how much there is, since one side holds about as much as the other. The
range that seems to hold most is looked at next, as long as looks are left. A wrong guess costs time
when listing, never a key.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

_LAST: Final = "\U0010ffff"
"""The last character in the order of UTF-8, which S3 and Python's `str` share."""
_SURROGATES: Final = range(0xD800, 0xE000)  # no characters, in the middle of those that are
_NOT_IN_XML: Final = 0xFFFF  # where an answer repeats the marker unencoded, as the local S3 does
_KEY_BYTES: Final = 1024  # which S3 may also hold a marker to
_LOOKS: Final = 16  # for each part, and about for each cut
_AT_ONCE: Final = 32
_ENOUGH: Final = 4.0  # pages of a piece that is not worth a cut
_UNSEEN: Final = 1e9  # pages of a bucket


@dataclass(frozen=True, slots=True)
class Page:
    """Three of the keys that S3 lists after a key, and whether it has more after them."""

    first: str
    middle: str
    last: str
    more: bool


@dataclass(frozen=True, slots=True)
class Range:
    """Keys after `after`, up to and with `upto` or to the end; neither needs to exist.

    Open below, as S3's KeyMarker is: all versions of a key are in one range.
    """

    after: str = ""
    upto: str | None = None

    def reaches(self, key: str) -> bool:
        """Return whether it does not end before the key."""
        return self.upto is None or key <= self.upto


Look = Callable[[str], Page | None]
"""The page after a key; None when nothing comes after it."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A range, its first page and its estimated pages; `whole` when it cannot be cut."""

    range: Range
    page: Page | None
    pages: float = 1.0
    whole: bool = False

    @property
    def small(self) -> bool:
        """Whether its first page is all of it."""
        page, upto = self.page, self.range.upto
        return page is None or not page.more or (upto is not None and page.last >= upto)

    @property
    def weight(self) -> float:
        return 1.0 if self.small else self.pages


Each = Callable[[Callable[[_Piece], list[_Piece]], Sequence[_Piece]], Iterable[list[_Piece]]]


def plan(look: Look, parts: int, each: Each = map) -> list[Range]:
    """Cut all keys into at most `parts` ranges of about one size, in order and without gaps.

    It looks about 16 times for each part, however much there is; `each` may look at several pieces
    at once (the `map` of a thread pool).
    """
    left = parts * _LOOKS
    pieces = [_Piece(Range(), look(""), _UNSEEN)]
    while left > 0 and (chosen := _heaviest(pieces, left // _LOOKS)):
        cuts = list(each(lambda piece: _cut(piece, look), chosen))
        left -= sum(map(len, cuts))
        made = {piece.range: cut for piece, cut in zip(chosen, cuts, strict=True)}
        pieces = [new for piece in pieces for new in made.get(piece.range, [piece])]
    return _gathered(pieces, parts)


def _heaviest(pieces: Sequence[_Piece], most: int) -> list[_Piece]:
    """Return the pieces to cut next, the largest first; much smaller ones wait."""
    large = [piece for piece in pieces if piece.weight > _ENOUGH and not piece.whole]
    large.sort(key=lambda piece: -piece.pages)
    chosen = large[: max(1, min(most, _AT_ONCE))]
    return [piece for piece in chosen if piece.pages * 4 > chosen[0].pages]


def _cut(piece: _Piece, look: Look) -> list[_Piece]:
    """Cut a large piece behind its first page, and at the forks above that."""
    first, within = piece.page, piece.range
    rest = look(first.last) if first else None
    if first is None or rest is None or not within.reaches(rest.first):
        return [replace(piece, whole=True)]
    forks = list(_forks(within, first, look))
    starts = [within.after, first.last, *(marker for marker, _ in forks)]
    ends = [*starts[1:], within.upto]
    pages = [first, rest, *(page for _, page in forks)]
    # What follows the page on its own side should be little: if it is not, nothing is known of it.
    guesses = [1.0, 2.0 ** len(forks), *(2.0**nth for nth in range(len(forks)))]
    each = zip(starts, ends, pages, guesses, strict=True)
    return [_Piece(Range(start, end), page, guess) for start, end, page, guess in each]


def _forks(within: Range, page: Page, look: Look) -> Iterator[tuple[str, Page]]:
    """Yield where keys fork from the page's last, nearest first: a marker and the page after."""
    if page.middle == page.last:  # a key of many versions; others may begin with it
        return
    marker = _past(page.last, page.middle)
    while within.reaches(marker) and (other := look(marker)) and within.reaches(other.first):
        yield marker, other
        above = _past(page.last, other.last)
        if above <= marker:  # keys with the last of all characters
            return
        marker = above


def _past(key: str, other: str) -> str:
    """Return a marker after all keys of the smallest subtree that holds both of these."""
    pairs = enumerate(zip(key, other, strict=False))
    fork = next((nth for nth, (here, there) in pairs if here != there), None)
    if fork is None:  # one of them is how the other begins
        return _marker(min(key, other))
    here, there = ord(key[fork]), ord(other[fork])
    end = here | (1 << (here ^ there).bit_length()) - 1
    if end in _SURROGATES:
        end = _SURROGATES.start - 1
    elif end == _NOT_IN_XML:
        end -= 2  # XML does not have the one before it either
    return _marker(key[:fork] + chr(min(end, ord(_LAST))))


def _marker(beginning: str) -> str:
    """Return a marker after all keys with this prefix, no longer than a key may be."""
    fits = beginning.encode()[: _KEY_BYTES - len(_LAST.encode())].decode(errors="ignore")
    return fits + _LAST


def _gathered(pieces: Sequence[_Piece], parts: int) -> list[Range]:
    """Join neighbours, so that all parts have about the same weight."""
    total = sum(piece.weight for piece in pieces)
    groups: dict[int, list[Range]] = {}
    done = 0.0
    for piece in pieces:
        groups.setdefault(int(parts * (done + piece.weight / 2) / total), []).append(piece.range)
        done += piece.weight
    return [Range(group[0].after, group[-1].upto) for group in groups.values()]
