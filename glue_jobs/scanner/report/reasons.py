"""Which findings are looked into, and what is found there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as sql

from glue_jobs.scanner.edges import TOLD
from glue_jobs.scanner.report import why
from glue_jobs.scanner.report.finding import Finding, Why, explained

DETAILED: Final = 1_000
"""So many findings are looked into; each costs a little on every row of the listing."""
SHOWN: Final = 100
"""So many cleared findings are shown."""


@dataclass(frozen=True, slots=True)
class Reasons:
    """The first findings with their reasons, the most urgent first, and some that are gone."""

    top: Sequence[Finding]
    cleared: Sequence[Finding]


def reasons(
    edges: DataFrame, objects: DataFrame, taken: datetime, thresholds: Mapping[str, int]
) -> Reasons:
    """Look into the most urgent findings: those just told, then by how far beyond the threshold.

    `edges` are rows of `edges.EDGES`, `objects` of `LISTING`; ages are counted back from `taken`.
    """
    there = edges.where("state != 'cleared'")
    first = sql.desc(sql.col("state").isin(*TOLD))
    top = there.orderBy(first, sql.desc(_beyond(thresholds)), "kind", "key").limit(DETAILED)
    gone = edges.where("state = 'cleared'").orderBy(sql.desc("told"), "kind", "key").limit(SHOWN)
    rows, cleared = top.collect(), gone.collect()
    if not rows:
        return Reasons([], [_finding(row) for row in cleared])
    under = why.under(objects, rows)
    folders = why.folders(under).collect() if any(r.kind == "BigPrefix" for r in rows) else []
    found = explained(why.slices(under, taken).collect(), folders)
    return Reasons(
        [_finding(row, found) for row in rows],
        [_finding(row) for row in cleared],
    )


def _beyond(thresholds: Mapping[str, int]) -> Column:
    """A finding's count as a multiple of its kind's threshold, so that kinds compare."""

    def kind(so_far: Column, name: str) -> Column:
        times = sql.col("count") / max(1, thresholds[name])
        return sql.when(sql.col("kind") == name, times).otherwise(so_far)

    return reduce(kind, thresholds, sql.lit(0.0))


def _finding(row: Row, found: Mapping[tuple[str, str], Why] | None = None) -> Finding:
    return Finding(
        row.kind,
        row.key,
        row["count"],
        row.versions,
        row.bytes,
        row.state,
        row.told,
        row.told_at,
        found.get((row.kind, row.key)) if found else None,
    )
