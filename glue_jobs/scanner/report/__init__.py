"""The report of a scan: Parquet for queries, and an HTML page.

::

    FOLDER/findings/    all findings
    FOLDER/index.html   the page

`docs/adr/0026-the-scan-report.md`
"""

from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from glue_jobs import files
from glue_jobs.scanner.alert_states import ALERTED
from glue_jobs.scanner.report.page import Finding, Page, html

_SHOWN: Final = 100
"""The most findings on the page and in the result, and the last of them the cleared ones."""
_COLUMNS: Final = ("kind", "key", "count", "versions", "bytes", "state", "since", "alerted")


def write(states: DataFrame, page: Page, folder: str) -> dict[str, Any]:
    """Write the report of these rows of `ALERT_STATES`; return its part of the run's result.

    It replaces that of an earlier attempt. The findings of the page are those of the rows.
    """
    found = states.where("state is not null")
    page.findings = _most_urgent(found, page)
    times = {name: sql.timestamp_millis(name) for name in ("since", "alerted_at")}
    findings = found.withColumns(times).select(*_COLUMNS, "alerted_at")
    findings.write.mode("overwrite").parquet(f"{folder}/findings")
    url = f"{folder}/index.html"
    files.write(url, html(page).encode(), media_type="text/html; charset=utf-8")
    return {
        "bucket": page.settings.bucket,
        "prefix": page.prefix,
        "source": page.content.name,
        "taken": page.content.taken.isoformat(),
        "versions": page.content.versions,
        "usage": [each._asdict() for each in page.usage],
        "findings": [
            {**finding._asdict(), "since": finding.first.isoformat()} for finding in page.findings
        ],
        "numbers": page.numbers,
        "report": url,
        "notes": page.notes,
    }


def _most_urgent(states: DataFrame, page: Page) -> list[Finding]:
    """Return those just reported, then those farthest above their threshold, then the cleared."""
    times = [
        sql.when(sql.col("kind") == kind, sql.col("count") / max(1, most))
        for kind, most in page.thresholds.items()
    ]
    order = (
        sql.col("state") == "cleared",
        sql.desc(sql.col("state").isin(*ALERTED)),
        sql.desc(sql.coalesce(*times)),
        sql.desc("alerted"),
    )
    rows = states.orderBy(*order, "kind", "key").limit(_SHOWN)
    return [Finding(*row) for row in rows.select(*Finding._fields).collect()]
