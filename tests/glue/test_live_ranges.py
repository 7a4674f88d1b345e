"""The plan for keys in memory, or only computed: it reads few of them."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from hashlib import md5
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glue_jobs.listing.ranges import Page, Range, plan

MILLIONS = 10_000_000
KEYS_PER_PAGE = 100
PARTS = 16


class Keys:
    """A sorted bucket that responds as S3 does; it has a key once for each version."""

    def __init__(self, count: int, key: Callable[[int], str], page: int = KEYS_PER_PAGE) -> None:
        self.count, self.key, self.page = count, key, page
        self.calls = 0

    def read_page(self, after: str) -> Page | None:
        self.calls += 1
        start = self.upto(after)
        end = min(start + self.page, self.count)
        if start == end:
            return None
        middle = self.key((start + end) // 2)
        return Page(self.key(start), middle, self.key(end - 1), end < self.count)

    def upto(self, marker: str) -> int:
        return bisect_right(range(self.count), marker, key=self.key)

    def counts(self, ranges: Sequence[Range]) -> list[int]:
        """Return the number of keys in each range."""
        uptos = [part.upto for part in ranges]
        ends = [self.count if upto is None else self.upto(upto) for upto in uptos]
        return [end - start for start, end in pairwise([0, *ends])]


def bucket(keys: Sequence[str], page: int = KEYS_PER_PAGE) -> Keys:
    return Keys(len(keys), sorted(keys).__getitem__, page)


def digest(nth: int) -> str:
    return md5(b"%d" % nth, usedforsecurity=False).hexdigest()


def assert_gapless(ranges: Sequence[Range]) -> None:
    assert ranges[0].after == ""
    assert ranges[-1].upto is None
    assert all(left.upto == right.after for left, right in pairwise(ranges))
    assert all(left.after < right.after for left, right in pairwise(ranges))


characters = st.one_of(
    st.sampled_from("aab/01"),
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from(["\U0010ffff", "\ud7ff", "\ue000", "\uffff", "\x00", "é", "\u0301"]),
)
keys = st.text(characters, min_size=1, max_size=6)


@given(st.lists(keys, max_size=60), st.integers(1, 9), st.integers(1, 5))
@settings(max_examples=300)
def test_each_key_is_in_exactly_one_range(names: list[str], parts: int, page: int) -> None:
    ranges = plan(bucket(names, page).read_page, parts)
    assert_gapless(ranges)
    assert len(ranges) <= parts
    for key in names:
        assert sum(part.after < key and part.reaches(key) for part in ranges) == 1
    for part in ranges:
        assert len(part.after.encode()) <= 1024  # surrogates could not be encoded


SHAPES = {
    "numbers": Keys(MILLIONS, lambda nth: f"{nth:08d}"),
    "one flat prefix": Keys(MILLIONS, lambda nth: f"data/big/img-{nth:08d}.jpg"),
    "prefixes by month": Keys(
        MILLIONS, lambda nth: f"{2015 + nth // 1_000_000}/{nth % 1_000_000 // 83_334:02d}/{nth:08d}"
    ),
    "a giant behind small ones": Keys(
        MILLIONS, lambda nth: f"a{nth:04d}/x" if nth < 10_000 else f"zz/{nth:08d}"
    ),
    "a giant before small ones": Keys(
        MILLIONS, lambda nth: f"aa/{nth:08d}" if nth < MILLIONS - 10_000 else f"b{nth:08d}/x"
    ),
    "500 levels": Keys(MILLIONS, lambda nth: f"{nth:08d}/" + "d/" * 499 + "f"),
    "hashes": bucket([digest(nth) for nth in range(90_000)]),
    "numbers without zeros": bucket([f"x/{nth}" for nth in range(90_000)]),
    "all of Unicode": bucket([chr(0xA0 + nth * 7 % 50_000) + f"{nth}" for nth in range(90_000)]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_ranges_are_about_equal_after_few_calls(shape: str) -> None:
    keys = SHAPES[shape]
    keys.calls = 0
    ranges = plan(keys.read_page, PARTS)
    assert_gapless(ranges)
    counts = keys.counts(ranges)
    assert sum(counts) == keys.count
    assert max(counts) <= 4.5 * keys.count / PARTS
    assert keys.calls <= 1_100


GIANT = 400_000


@cache
def digests() -> Sequence[str]:
    return sorted(map(digest, range(GIANT)))


def with_giant(giant: str, others: Sequence[str]) -> Keys:
    """Return a bucket in which one prefix has nearly all keys."""
    return bucket([*others, *map(giant.__add__, digests())])


def numbered(prefixes: Iterable[str], each: int) -> list[str]:
    return [f"{prefix}{nth:05d}" for prefix in prefixes for nth in range(each)]


GIANTS: dict[str, Callable[[], Keys]] = {
    **{
        f"{small} keys before it": partial(with_giant, "uploads/", numbered(["assets/"], small))
        for small in (99, 150, 500)
    },
    "by days, between small ones": lambda: bucket(
        numbered(["assets/", "www/"], 500)
        + [
            f"uploads/2025/{nth % 12:02d}/{nth % 28:02d}/{found}"
            for nth, found in enumerate(digests())
        ]
    ),
    "one of 200 tenants": lambda: with_giant(
        "tenant-0107/", numbered([f"tenant-{nth:04d}/" for nth in range(200)], 100)
    ),
    "one of 200 hashes": lambda: with_giant(
        "7c9e6679f8a7/", numbered([f"{digest(nth)}/" for nth in range(200)], 100)
    ),
    "one of 336 days": lambda: with_giant(
        "t/dt=2025-06-14/",
        numbered([f"t/dt=2025-{nth // 28 + 1:02d}-{nth % 28 + 1:02d}/" for nth in range(336)], 100),
    ),
}


@pytest.mark.parametrize("shape", GIANTS)
def test_a_giant_is_cut_wherever_it_is(shape: str) -> None:
    """One of 16 equal parts has 6 per cent of the keys."""
    keys = GIANTS[shape]()
    for parts, largest, calls in ((16, 0.1, 1_100), (320, 0.02, 6_000)):
        keys.calls = 0
        ranges = plan(keys.read_page, parts)
        assert_gapless(ranges)
        assert max(keys.counts(ranges)) <= largest * keys.count
        assert keys.calls <= calls


def test_a_page_of_keys_is_one_range_and_one_call() -> None:
    few = bucket([f"{nth}" for nth in range(KEYS_PER_PAGE)])
    assert plan(few.read_page, PARTS) == [Range()]
    assert few.calls == 1


def test_the_versions_of_one_key_stay_together() -> None:
    many = Keys(5_000_000, lambda _: "the key")
    ranges = plan(many.read_page, PARTS)
    assert max(many.counts(ranges)) == 5_000_000
    assert many.calls < 10


def test_neighbours_of_a_key_with_many_versions_are_found() -> None:
    def key(nth: int) -> str:
        return f"a{nth:07d}" if nth < 1_000_000 else "b" if nth < 6_000_000 else f"b/{nth}"

    keys = Keys(7_000_000, key)
    counts = keys.counts(plan(keys.read_page, PARTS))
    assert sum(count > 50_000 for count in counts) > PARTS // 2
    assert sorted(counts)[-2] < 500_000


def test_pieces_can_be_read_in_any_order() -> None:
    hashes = SHAPES["hashes"]
    backwards = plan(hashes.read_page, PARTS, lambda cut, pieces: [*map(cut, pieces[::-1])][::-1])
    assert backwards == plan(hashes.read_page, PARTS)
