"""A finding with its breakdown, as in the report and the run's result."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from pyspark.sql import Row

from glue_jobs.scanner.report.breakdown import AGES, OLDER, UNKNOWN

ORDER: Final = (*(name for name, _ in AGES), OLDER, UNKNOWN)


class Share(NamedTuple):
    """A part of what is under a finding: an age or a sub-folder."""

    name: str
    versions: int
    bytes: int


@dataclass(slots=True)
class Breakdown:
    """What is under a finding: `old` are noncurrent versions."""

    versions: int = 0
    bytes: int = 0
    old_versions: int = 0
    old_bytes: int = 0
    markers: int = 0
    ages: Sequence[Share] = ()
    folders: list[Share] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Finding:
    """A row of `alert_states.ALERT_STATES`, for display; `breakdown` is None if there is none."""

    kind: str
    key: str
    count: int | None
    versions: int | None
    bytes: int | None
    state: str
    alerted: int | None
    alerted_at: datetime | None
    breakdown: Breakdown | None = None


FindingKey = tuple[str, str]


def explained(slices: Iterable[Row], folders: Iterable[Row]) -> Mapping[FindingKey, Breakdown]:
    """Return the breakdown of each finding by kind and key, from the rows of `breakdown`."""
    found: dict[FindingKey, Breakdown] = defaultdict(Breakdown)
    ages: dict[FindingKey, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for row in slices:
        breakdown = found[row.kind, row.key]
        breakdown.versions += row.versions
        breakdown.bytes += row.bytes
        breakdown.markers += row.markers
        if row.old:
            breakdown.old_versions += row.versions
            breakdown.old_bytes += row.bytes
        share = ages[row.kind, row.key][row.age]
        share[0] += row.versions
        share[1] += row.bytes
    for key, by_name in ages.items():
        found[key].ages = _shares(by_name)
    for row in sorted(folders, key=lambda row: row.rank):
        found[row.kind, row.key].folders.append(Share(row.folder, row.versions, row.bytes))
    return found


def _shares(ages: Mapping[str, Sequence[int]]) -> list[Share]:
    """Return all ages in order, with empty ones; the unknown age only if there is one."""
    return [
        Share(name, *ages.get(name, (0, 0))) for name in ORDER if name != UNKNOWN or name in ages
    ]
