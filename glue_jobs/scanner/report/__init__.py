"""The report of a scan: Parquet for queries, and a page for people.

::

    FOLDER/findings/    all findings, with what the first of them cost and a lifecycle rule
    FOLDER/ages/        of the first findings: versions and bytes by age
    FOLDER/folders/     of the prefixes among them: the largest sub-folders
    FOLDER/index.html   the page

`docs/adr/0026-the-scan-report.md`
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pyspark.sql import DataFrame

from bucketcast.jobs import Scan
from glue_jobs import files
from glue_jobs.listing.schema import Listing
from glue_jobs.scanner.report import prices, tables
from glue_jobs.scanner.report.finding import Finding
from glue_jobs.scanner.report.page import Page, html
from glue_jobs.scanner.report.reasons import DETAILED, reasons

_LISTED: Final = 100
"""So many findings stand in the run's result."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """What a report is about: the scan that was asked for, its time, and what came of it.

    `numbers` are the findings by kind and state.
    """

    given: Scan
    at: datetime
    numbers: Mapping[str, Mapping[str, int]]
    notes: Sequence[str]


def write(judged: DataFrame, found: Listing, scanned: Scanned, folder: str) -> dict[str, Any]:
    """Write the report of these rows of `edges.EDGES`; what the run's result says of it."""
    given = scanned.given
    thresholds = {
        "ManyVersions": given.alert_excess_versions,
        "LargeVersions": given.alert_versions_size,
        "BigPrefix": given.alert_excess_folders,
    }
    known = reasons(judged, found.objects, found.taken, thresholds)
    there = sum(
        number
        for states in scanned.numbers.values()
        for state, number in states.items()
        if state != "cleared"
    )
    notes = list(scanned.notes)
    if there > DETAILED:
        notes.append(f"Of {there:,} findings the first {DETAILED:,} were looked into.")
    page = Page(
        given.bucket,
        given.prefix,
        found.name,
        scanned.at,
        found.taken,
        thresholds,
        scanned.numbers,
        known.top,
        known.cleared,
        notes,
        sizes=found.sizes,
    )
    tables.write(judged, known.top, thresholds, folder, sizes=found.sizes)
    place = f"{folder}/index.html"
    files.write(place, html(page).encode(), kind="text/html; charset=utf-8")
    return {
        "bucket": given.bucket,
        "source": found.name,
        "taken": found.taken.isoformat(),
        "versions": found.versions,
        "findings": [_told(each, sizes=found.sizes) for each in (*known.top, *known.cleared)][
            :_LISTED
        ],
        "numbers": scanned.numbers,
        "prices": prices.SOURCE,
        "report": place,
        "notes": notes,
    }


def _told(finding: Finding, *, sizes: bool) -> dict[str, Any]:
    why = finding.why if sizes else None
    return {
        "kind": finding.kind,
        "key": finding.key,
        "state": finding.state,
        "count": finding.count,
        "told": finding.told,
        "bytes": why.bytes if why else finding.bytes,
        "price": round(why.dollars, 4) if why else None,
    }
