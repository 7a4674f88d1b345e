"""Choose the findings to analyse, and break them down."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as sql

from glue_jobs.scanner.alert_states import ALERTED
from glue_jobs.scanner.report import breakdown
from glue_jobs.scanner.report.finding import Breakdown, Finding, explained

DETAILED: Final = 1_000
"""How many findings are analysed; each costs a little on every row of the listing."""
SHOWN: Final = 100
"""How many cleared findings are shown."""


@dataclass(frozen=True, slots=True)
class Reasons:
    """The first findings with their breakdowns, the most urgent first, and some cleared ones."""

    top: Sequence[Finding]
    cleared: Sequence[Finding]


def reasons(
    states: DataFrame, objects: DataFrame, taken: datetime, thresholds: Mapping[str, int]
) -> Reasons:
    """Analyse the most urgent findings: those just alerted, then the farthest over the threshold.

    `states` are rows of `ALERT_STATES`, `objects` of `LISTING`; ages are counted back from `taken`.
    """
    current = states.where("state != 'cleared'")
    first = sql.desc(sql.col("state").isin(*ALERTED))
    top = current.orderBy(first, sql.desc(_beyond(thresholds)), "kind", "key").limit(DETAILED)
    gone = (
        states.where("state = 'cleared'").orderBy(sql.desc("alerted"), "kind", "key").limit(SHOWN)
    )
    rows, cleared = top.collect(), gone.collect()
    if not rows:
        return Reasons([], [_finding(row) for row in cleared])
    under = breakdown.under(objects, rows)
    folders = breakdown.folders(under).collect() if any(r.kind == "BigPrefix" for r in rows) else []
    found = explained(breakdown.slices(under, taken).collect(), folders)
    return Reasons(
        [_finding(row, found) for row in rows],
        [_finding(row) for row in cleared],
    )


def _beyond(thresholds: Mapping[str, int]) -> Column:
    """Return a finding's count as a multiple of its kind's threshold, to compare kinds."""

    def kind(so_far: Column, name: str) -> Column:
        times = sql.col("count") / max(1, thresholds[name])
        return sql.when(sql.col("kind") == name, times).otherwise(so_far)

    return reduce(kind, thresholds, sql.lit(0.0))


def _finding(row: Row, found: Mapping[tuple[str, str], Breakdown] | None = None) -> Finding:
    return Finding(
        row.kind,
        row.key,
        row["count"],
        row.versions,
        row.bytes,
        row.state,
        row.alerted,
        row.alerted_at,
        found.get((row.kind, row.key)) if found else None,
    )
