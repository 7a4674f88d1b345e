"""The report of a scan: Parquet for queries, and an HTML page.

::

    FOLDER/usage/       what the bucket holds, rows of `usage.Usage`
    FOLDER/findings/    all findings
    FOLDER/index.html   the page

`docs/adr/0026-the-scan-report.md`
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import reduce
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from bucketcast.event.scanner import KINDS
from bucketcast.settings.pipeline import Scan
from glue_jobs import files
from glue_jobs.listing.schema import Listing
from glue_jobs.scanner.alert_states import ALERTED
from glue_jobs.scanner.report.page import Finding, Page, html
from glue_jobs.scanner.usage import USAGE, Usage

_SHOWN: Final = 100
"""The most findings on the page, the most cleared ones there, and the most in the result."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """The scan of a report: its settings, its time and its results.

    `numbers` are the findings by kind and state; `usage` is what the bucket holds below
    `prefix`, the prefixes that were scanned.
    """

    settings: Scan
    at: datetime
    numbers: Mapping[str, Mapping[str, int]]
    usage: Sequence[Usage]
    notes: Sequence[str]
    prefix: str


def write(states: DataFrame, content: Listing, scanned: Scanned, folder: str) -> dict[str, Any]:
    """Write the report of these rows of `ALERT_STATES`; return its part of the run's result.

    It replaces that of an earlier attempt.
    """
    settings = scanned.settings
    thresholds = {name: getattr(settings, kind.option) for name, kind in KINDS.items()}
    top = _most_urgent(states, thresholds)
    cleared = _first(states.where("state = 'cleared'"), sql.desc("alerted"))
    page = Page(
        settings.bucket,
        settings.prefix,
        content.name,
        scanned.at,
        content.taken,
        thresholds,
        scanned.numbers,
        top,
        cleared,
        scanned.usage,
        scanned.notes,
    )
    findings = states.where("state is not null").drop("open")
    findings.write.mode("overwrite").parquet(f"{folder}/findings")
    used = states.sparkSession.createDataFrame(scanned.usage, USAGE).coalesce(1)
    used.write.mode("overwrite").parquet(f"{folder}/usage")
    url = f"{folder}/index.html"
    files.write(url, html(page).encode(), media_type="text/html; charset=utf-8")
    return {
        "bucket": settings.bucket,
        "prefix": scanned.prefix,
        "source": content.name,
        "taken": content.taken.isoformat(),
        "versions": content.versions,
        "usage": [each._asdict() for each in scanned.usage],
        "findings": [_document(finding) for finding in (*top, *cleared)][:_SHOWN],
        "numbers": scanned.numbers,
        "report": url,
        "notes": scanned.notes,
    }


def _document(finding: Finding) -> dict[str, Any]:
    return {**asdict(finding), "since": finding.since.isoformat()}


def _most_urgent(states: DataFrame, thresholds: Mapping[str, int]) -> list[Finding]:
    """Return the findings just alerted, then those farthest above their threshold."""
    current = states.where("state != 'cleared'")
    alerted = sql.desc(sql.col("state").isin(*ALERTED))
    return _first(current, alerted, sql.desc(_excess(thresholds)))


def _excess(thresholds: Mapping[str, int]) -> Column:
    """Return a finding's count as a multiple of its kind's threshold, to compare kinds."""

    def add_kind(others: Column, kind: str) -> Column:
        times = sql.col("count") / max(1, thresholds[kind])
        return sql.when(sql.col("kind") == kind, times).otherwise(others)

    return reduce(add_kind, thresholds, sql.lit(0.0))


def _first(states: DataFrame, *order: Column) -> list[Finding]:
    # Collected as a timestamp, it would be in this machine's time zone.
    since = states.withColumn("since", sql.unix_millis("since"))
    rows = since.orderBy(*order, "kind", "key").limit(_SHOWN).collect()
    return [
        Finding(
            row.kind,
            row.key,
            row.state,
            datetime.fromtimestamp(row.since / 1000, UTC),
            row["count"],  # a row has a method named `count`
            row.alerted,
            row.bytes,
        )
        for row in rows
    ]
