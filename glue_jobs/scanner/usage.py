"""What a bucket holds: objects, versions, delete markers and bytes, by class and by prefix.

It comes from the sums of the scan's pass (`sums`), so it reads nothing more. The heaviest prefixes
are exact to a depth of eight: the folders' sums are added up for each prefix of theirs, which are
as many as the folders, not as the keys.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice, pairwise
from typing import Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from glue_jobs.listing.schema import Listing
from glue_jobs.scanner.sums import AGE_CLASSES, SIZE_CLASSES

PREFIXES: Final = 20
"""The number of the heaviest prefixes."""
DEPTH: Final = 8
"""The most slashes of a prefix among them."""
UNKNOWN: Final = "unknown"
"""The class of what the source does not say."""
_SIZES: Final = [*(name for name, _ in SIZE_CLASSES), UNKNOWN]
_AGES: Final = [*(name for name, _ in AGE_CLASSES), UNKNOWN]


class Usage(NamedTuple):
    """A part of a bucket's content.

    `dimension` is total, storage_class, size_class, age_class, prefix or uploads, and `name` the
    class or the prefix, which ends with a slash; "" for the total and the uploads.

    `objects` are current, `noncurrent` are older versions; neither are delete markers. `bytes` are
    of both, `noncurrent_bytes` of the noncurrent ones. What the source does not list is None.
    Delete markers have an age, but no storage and no size.

    Of the incomplete multipart uploads `objects` is the number, `bytes` of their parts, and
    `oldest` the time when the first was started.
    """

    dimension: str
    name: str
    objects: int
    noncurrent: int | None = None
    delete_markers: int | None = None
    bytes: int | None = None
    noncurrent_bytes: int | None = None
    oldest: datetime | None = None


class _Sums(NamedTuple):
    """The sums of `sums.sum_up`."""

    versions: int = 0
    noncurrent: int = 0
    markers: int = 0
    bytes: int = 0
    noncurrent_bytes: int = 0

    def without_markers(self) -> "_Sums":
        return self._replace(versions=self.versions - self.markers, markers=0)


class _Class(NamedTuple):
    """The names of a class of each kind."""

    storage: str
    size: str
    age: str


def rows(sums: DataFrame, content: Listing) -> list[Usage]:
    """Return the usage of a bucket from its sums: the total, the classes, the heaviest prefixes.

    Classes are in their order, storage classes and prefixes by weight: bytes, or versions where the
    source has no sizes. Of prefixes with the same content only the longest is there.
    """
    classes = [
        (_names(row.storage, row.place), _Sums(*row[2:]))
        for row in sums.where("place is not null")
        .select("storage", "place", *_Sums._fields)
        .collect()
    ]
    found = [("total", "", _add(each for _, each in classes))]
    objects = [(names, each.without_markers()) for names, each in classes]
    found += _group("storage_class", ((names.storage, each) for names, each in objects))
    found += _group("size_class", ((names.size, each) for names, each in objects), _SIZES)
    found += _group("age_class", ((names.age, each) for names, each in classes), _AGES)
    found += (("prefix", prefix, each) for prefix, each in _heaviest(sums))
    return [_usage(content, *each) for each in found]


def _names(storage: str | None, place: int) -> _Class:
    """Return the names of a class of `sums.sum_up`."""
    size, age = divmod(place, len(_AGES))
    return _Class(storage or UNKNOWN, _SIZES[size], _AGES[age])


def _group(
    dimension: str, classes: Iterable[tuple[str, _Sums]], order: Sequence[str] = ()
) -> list[tuple[str, str, _Sums]]:
    """Return the sums of the classes that occur; none if the source tells no class at all."""
    groups: defaultdict[str, list[_Sums]] = defaultdict(list)
    for name, each in classes:
        if each.versions:
            groups[name].append(each)
    if groups.keys() == {UNKNOWN}:
        return []
    totals = {name: _add(group) for name, group in groups.items()}
    names = order or sorted(totals, key=lambda name: (name == UNKNOWN, _weight(totals[name]), name))
    return [(dimension, name, totals[name]) for name in names if name in totals]


def _heaviest(sums: DataFrame) -> list[tuple[str, _Sums]]:
    path = sql.col("folder").cast("string").alias("path")
    folders = sums.where("folder is not null").select(path, *_Sums._fields)
    depth = sql.expr("length(path) - length(replace(path, '/', ''))")
    levels = sql.sequence(sql.lit(1), sql.least(depth, sql.lit(DEPTH)))
    prefix = sql.expr("concat(substring_index(path, '/', level), '/')").alias("prefix")
    heaviest = (
        folders.select("path", *_Sums._fields, sql.explode(levels).alias("level"))
        .groupBy(prefix)
        .agg(*(sql.sum(name).alias(name) for name in _Sums._fields))
        .orderBy(sql.desc("bytes"), sql.desc("versions"), "prefix")
        .limit(PREFIXES * DEPTH)  # so many, as each may have shorter ones with the same content
    )
    found = [(row.prefix, _Sums(*row[1:])) for row in heaviest.collect()]
    return list(islice(_longest(found), PREFIXES))


def _longest(found: Iterable[tuple[str, _Sums]]) -> Iterator[tuple[str, _Sums]]:
    """Yield the prefixes but those that are followed by a longer one with the same content."""
    for (prefix, each), (other, others) in pairwise((*found, ("", _Sums()))):
        if not (other.startswith(prefix) and others == each):
            yield prefix, each


def _usage(content: Listing, dimension: str, name: str, each: _Sums) -> Usage:
    return Usage(
        dimension,
        name,
        each.versions - each.noncurrent - each.markers,
        each.noncurrent if content.versions else None,
        each.markers if content.versions else None,
        each.bytes if content.sizes else None,
        each.noncurrent_bytes if content.versions and content.sizes else None,
    )


def _add(sums: Iterable[_Sums]) -> _Sums:
    return _Sums(*map(sum, zip(*sums, strict=True)))


def _weight(each: _Sums) -> tuple[int, int]:
    """Return the order of sums, the heaviest first."""
    return -each.bytes, -each.versions
