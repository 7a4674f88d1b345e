"""Plan how to split a bucket's keys into ranges that tasks list in parallel.

S3 has no counts and no middle: it only returns the page that follows a key. So the plan walks
the binary tree of the keys' bits. It climbs from the last key of a range's first page, and at each
fork reads the page that follows all keys on this side. Each such page is a cut, and the number of
forks is an estimate of the range's size, since one side of a fork holds about as much as the other.
The range with the largest estimate is probed next, until the limit of probes or until the first
page of each range is all of it. A wrong guess costs time when listing, never a key.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

_LAST: Final = "\U0010ffff"
"""The last character in the order of UTF-8, which S3 and Python's `str` share."""
_SURROGATES: Final = range(0xD800, 0xE000)  # no characters, in the middle of those that are
_NOT_IN_XML: Final = 0xFFFF  # in responses that repeat the marker unencoded, as the local S3's do
_KEY_BYTES: Final = 1024  # S3 may have the same limit for a marker
_PROBES: Final = 16  # for each part, and about for each cut
_LEAST_PROBES: Final = 1_024  # to find a giant among some hundred small ones; half a US cent
_MAX_PARALLEL: Final = 32
_UNKNOWN_PAGES: Final = 1e9  # of a bucket that was not read yet


@dataclass(frozen=True, slots=True)
class Page:
    """Three of the keys that S3 lists after a key; `more` follow them, or not."""

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
        """Return True if it does not end before the key."""
        return self.upto is None or key <= self.upto


ReadPage = Callable[[str], Page | None]
"""Return the page after a key; None if no key comes after it."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A range, its first page and its estimated pages; `whole` when it cannot be cut."""

    range: Range
    page: Page | None
    pages: float = 1.0
    whole: bool = False

    @property
    def small(self) -> bool:
        """True if its first page is all of it."""
        page, upto = self.page, self.range.upto
        return page is None or not page.more or (upto is not None and page.last >= upto)

    @property
    def weight(self) -> float:
        return 1.0 if self.small or self.whole else self.pages


Map = Callable[[Callable[[_Piece], list[_Piece]], Sequence[_Piece]], Iterable[list[_Piece]]]


def plan(read_page: ReadPage, parts: int, parallel_map: Map = map) -> list[Range]:
    """Cut all keys into at most `parts` ranges of about one size, in order and without gaps.

    It reads about 16 pages for each part and at least 1,024, however large the bucket is, unless
    it has fewer; `parallel_map` may cut several pieces at once (the `map` of a thread pool).
    """
    probes = max(_LEAST_PROBES, parts * _PROBES)
    pieces = [_Piece(Range(), read_page(""), _UNKNOWN_PAGES)]
    while probes > 0 and (chosen := _heaviest(pieces, probes // _PROBES)):
        cuts = list(parallel_map(lambda piece: _cut(piece, read_page), chosen))
        probes -= sum(map(len, cuts))
        cut = {piece.range: parts for piece, parts in zip(chosen, cuts, strict=True)}
        pieces = [part for piece in pieces for part in cut.get(piece.range, [piece])]
    return _join(pieces, parts)


def _heaviest(pieces: Sequence[_Piece], most: int) -> list[_Piece]:
    """Return the pieces to cut next, the largest first; much smaller ones wait.

    No guess is small enough to leave a piece alone: a giant may be at its very first fork.
    """
    large = [piece for piece in pieces if not piece.small and not piece.whole]
    large.sort(key=lambda piece: -piece.pages)
    chosen = large[: max(1, min(most, _MAX_PARALLEL))]
    return [piece for piece in chosen if piece.pages * 4 > chosen[0].pages]


def _cut(piece: _Piece, read_page: ReadPage) -> list[_Piece]:
    """Cut a large piece behind its first page, and at the forks above that."""
    first, within = piece.page, piece.range
    rest = read_page(first.last) if first else None
    if first is None or rest is None or not within.reaches(rest.first):
        return [replace(piece, whole=True)]
    forks = list(_forks(within, first, read_page))
    starts = [within.after, first.last, *(marker for marker, _ in forks)]
    ends = [*starts[1:], within.upto]
    pages = [first, rest, *(page for _, page in forks)]
    # Little should follow the page on its own side; if much does, its size is unknown.
    guesses = [1.0, 2.0 ** len(forks), *(2.0**nth for nth in range(len(forks)))]
    parts = zip(starts, ends, pages, guesses, strict=True)
    return [_Piece(Range(start, end), page, guess) for start, end, page, guess in parts]


def _forks(within: Range, page: Page, read_page: ReadPage) -> Iterator[tuple[str, Page]]:
    """Yield a marker and the page after it, for each fork above the page's last key upwards."""
    if page.middle == page.last:  # a key of many versions; others may begin with it
        return
    marker = _past(page.last, page.middle)
    while within.reaches(marker) and (other := read_page(marker)) and within.reaches(other.first):
        yield marker, other
        above = _past(page.last, other.last)
        if above <= marker:  # keys with the last of all characters
            return
        marker = above


def _past(key: str, other: str) -> str:
    """Return a marker after all keys of the smallest subtree that holds both of these."""
    pairs = enumerate(zip(key, other, strict=False))
    fork = next((nth for nth, (here, there) in pairs if here != there), None)
    if fork is None:  # one of them is a prefix of the other
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


def _join(pieces: Sequence[_Piece], parts: int) -> list[Range]:
    """Join neighbours, so that all parts have about the same weight."""
    total = sum(piece.weight for piece in pieces)
    groups: dict[int, list[Range]] = {}
    done = 0.0
    for piece in pieces:
        groups.setdefault(int(parts * (done + piece.weight / 2) / total), []).append(piece.range)
        done += piece.weight
    return [Range(group[0].after, group[-1].upto) for group in groups.values()]
