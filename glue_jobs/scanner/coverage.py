"""The part of a bucket that a scan has seen, and when: what it may alert or clear.

Sources differ in age and reach: a report may arrive days after the listing of the bucket was
scanned, and may list one prefix only. A scan decides on the findings that its source shows, unless
a source that was scanned before shows them as of a later time.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

import msgspec
from pyspark.sql import Column
from pyspark.sql import functions as sql

from bucketcast.errors import BucketcastError
from bucketcast.event.scanner import KINDS
from glue_jobs.listing.schema import Listing, unix_ms


class Coverage(msgspec.Struct, frozen=True):
    """Findings of these kinds whose keys begin with the prefix, as of `taken`, in Unix ms."""

    prefix: str
    kinds: tuple[str, ...]
    taken: int

    def includes(self, other: "Coverage") -> bool:
        """Return True if the other's findings are among these."""
        return other.prefix.startswith(self.prefix) and set(other.kinds) <= set(self.kinds)


def cover(content: Listing, prefix: str) -> list[Coverage]:
    """Return what a source shows of the keys with this prefix.

    Raises:
        BucketcastError: the source lists no such keys.
    """
    shown = [
        max(prefix, listed, key=len)
        for listed in content.prefixes
        if prefix.startswith(listed) or listed.startswith(prefix)
    ]
    if not shown:
        names = ", ".join(content.prefixes)
        raise BucketcastError(f"--prefix: found {prefix!r}, but {content.name} lists only {names}")
    return [Coverage(each, kinds(content), unix_ms(content.taken)) for each in shown]


def kinds(content: Listing) -> tuple[str, ...]:
    """Return the names of the kinds of finding that a source shows."""
    shown = {"folders"}
    if content.versions:
        shown |= {"versions", "bytes"} if content.sizes else {"versions"}
    return tuple(name for name, kind in KINDS.items() if kind.limits in shown)


def later(earlier: Sequence[Coverage], now: Sequence[Coverage], name: str) -> list[Coverage]:
    """Return those of earlier scans whose sources are newer than this one's, called `name`.

    Raises:
        BucketcastError: they have all that this one covers.
    """
    newer = [each for each in earlier if each.taken > now[0].taken]
    if all(any(other.includes(each) for other in newer) for each in now):
        raise BucketcastError(
            f"{name} is older than the source of an earlier scan, so its findings are out of date: "
            "scan a newer one"
        )
    return newer


def add(earlier: Iterable[Coverage], now: Sequence[Coverage]) -> tuple[Coverage, ...]:
    """Return the coverage after this scan, without what it replaces."""
    kept = (
        each
        for each in earlier
        if not any(new.includes(each) and new.taken >= each.taken for new in now)
    )
    return (*kept, *now)


def covered(coverage: Iterable[Coverage]) -> Column:
    """Return a column that is True for the findings, by their `kind` and `key`."""
    nothing = sql.lit(False)  # noqa: FBT003 - a column's value
    return reduce(
        or_,
        (
            sql.col("key").startswith(each.prefix) & sql.col("kind").isin(*each.kinds)
            for each in coverage
        ),
        nothing,
    )
