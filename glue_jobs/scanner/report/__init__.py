"""The report of a scan: Parquet for queries, and an HTML page.

::

    FOLDER/findings/    all findings; the first with what is noncurrent of them
    FOLDER/ages/        versions and bytes of the first findings by age
    FOLDER/folders/     the largest sub-folders of the prefixes among them
    FOLDER/index.html   the page

`docs/adr/0026-the-scan-report.md`
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pyspark.sql import DataFrame

from bucketcast.settings.jobs import Scan
from glue_jobs import files
from glue_jobs.listing.schema import Listing
from glue_jobs.scanner.report import tables
from glue_jobs.scanner.report.details import DETAILED, reasons
from glue_jobs.scanner.report.finding import Finding
from glue_jobs.scanner.report.page import Page, html

_LISTED: Final = 100
"""How many findings the run's result has."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """The subject of a report: the scan's settings, its time and its results.

    `numbers` are the findings by kind and state.
    """

    settings: Scan
    at: datetime
    numbers: Mapping[str, Mapping[str, int]]
    notes: Sequence[str]


def write(judged: DataFrame, found: Listing, scanned: Scanned, folder: str) -> dict[str, Any]:
    """Write the report of these rows of `ALERT_STATES`; return its part of the run's result."""
    settings = scanned.settings
    thresholds = {
        "ManyVersions": settings.alert_excess_versions,
        "LargeVersions": settings.alert_versions_size,
        "BigPrefix": settings.alert_excess_folders,
    }
    details = reasons(judged, found.objects, found.taken, thresholds)
    open_findings = sum(
        number
        for states in scanned.numbers.values()
        for state, number in states.items()
        if state != "cleared"
    )
    notes = list(scanned.notes)
    if open_findings > DETAILED:
        notes.append(f"Of {open_findings:,} findings the first {DETAILED:,} were looked into.")
    page = Page(
        settings.bucket,
        settings.prefix,
        found.name,
        scanned.at,
        found.taken,
        thresholds,
        scanned.numbers,
        details.top,
        details.cleared,
        notes,
        sizes=found.sizes,
    )
    tables.write(judged, details.top, folder, sizes=found.sizes)
    url = f"{folder}/index.html"
    files.write(url, html(page).encode(), kind="text/html; charset=utf-8")
    return {
        "bucket": settings.bucket,
        "source": found.name,
        "taken": found.taken.isoformat(),
        "versions": found.versions,
        "findings": [
            _document(each, sizes=found.sizes) for each in (*details.top, *details.cleared)
        ][:_LISTED],
        "numbers": scanned.numbers,
        "report": url,
        "notes": notes,
    }


def _document(finding: Finding, *, sizes: bool) -> dict[str, Any]:
    breakdown = finding.breakdown if sizes else None
    return {
        "kind": finding.kind,
        "key": finding.key,
        "state": finding.state,
        "count": finding.count,
        "alerted": finding.alerted,
        "bytes": breakdown.bytes if breakdown else finding.bytes,
    }
