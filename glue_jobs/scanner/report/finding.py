"""A finding with its reasons, as the report and the run's result tell them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from pyspark.sql import Row

from glue_jobs.scanner.report import prices
from glue_jobs.scanner.report.why import AGES, OLDER, UNKNOWN

ORDER: Final = (*(name for name, _ in AGES), OLDER, UNKNOWN)


class Share(NamedTuple):
    """A part of what is under a finding: an age or a sub-folder."""

    name: str
    versions: int
    bytes: int


@dataclass(slots=True)
class Why:
    """What is under a finding: `old` is what is noncurrent of it, dollars are a month's."""

    versions: int = 0
    bytes: int = 0
    dollars: float = 0.0
    old_versions: int = 0
    old_bytes: int = 0
    old_dollars: float = 0.0
    markers: int = 0
    ages: Sequence[Share] = ()
    old_ages: Sequence[Share] = ()
    folders: list[Share] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Finding:
    """A row of `edges.EDGES` for people; `why` is None where nobody looked into it."""

    kind: str
    key: str
    count: int | None
    versions: int | None
    bytes: int | None
    state: str
    told: int | None
    told_at: datetime | None
    why: Why | None = None


Place = tuple[str, str]


def explained(slices: Iterable[Row], folders: Iterable[Row]) -> Mapping[Place, Why]:
    """The reasons of each finding by its kind and key, from the rows of `why`."""
    found: dict[Place, Why] = defaultdict(Why)
    ages: dict[Place, dict[bool, dict[str, list[int]]]] = defaultdict(
        lambda: {False: defaultdict(lambda: [0, 0]), True: defaultdict(lambda: [0, 0])}
    )
    for row in slices:
        why, dollars = found[row.kind, row.key], prices.a_month(row.bytes, row.storage_class)
        why.versions += row.versions
        why.bytes += row.bytes
        why.dollars += dollars
        why.markers += row.markers
        if row.old:
            why.old_versions += row.versions
            why.old_bytes += row.bytes
            why.old_dollars += dollars
        for old in {False, row.old}:
            share = ages[row.kind, row.key][old][row.age]
            share[0] += row.versions
            share[1] += row.bytes
    for place, (every, old) in ((place, held.values()) for place, held in ages.items()):
        found[place].ages, found[place].old_ages = _shares(every), _shares(old)
    for row in sorted(folders, key=lambda row: row.place):
        found[row.kind, row.key].folders.append(Share(row.folder, row.versions, row.bytes))
    return found


def _shares(ages: Mapping[str, Sequence[int]]) -> list[Share]:
    """All ages in their order, also those that nothing has; the unknown one only if it is there."""
    return [
        Share(name, *ages.get(name, (0, 0))) for name in ORDER if name != UNKNOWN or name in ages
    ]
