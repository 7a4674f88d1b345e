"""Write the report as Parquet."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from glue_jobs.scanner.report.finding import Breakdown, Finding, Share

_GROUP = "kind string, key string"
_ANALYSED = f"{_GROUP}, total long, old_versions long, old_bytes long, markers long"
_OF_SIZE = ("total", "old_bytes")
_SHARES = f"{_GROUP}, place int, name string, versions long, bytes long"


def write(
    alert_states: DataFrame,
    top: Sequence[Finding],
    folder: str,
    *,
    sizes: bool,
) -> None:
    """Write the three tables below this folder, over those of an earlier attempt.

    `findings` has a row per finding that exists or has just cleared. What is known only of `top`,
    such as the noncurrent versions, is null for the rest; bytes are null for all if the listing has
    no `sizes`.
    """
    spark = alert_states.sparkSession
    broken_down = [_analysed(each, each.breakdown) for each in top if each.breakdown]
    analysed = spark.createDataFrame(broken_down, _ANALYSED)
    if not sizes:
        nothing = {name: sql.lit(None).cast(analysed.schema[name].dataType) for name in _OF_SIZE}
        analysed = analysed.withColumns(nothing)
    findings = (
        alert_states.where("state is not null")
        .drop("open")
        .join(sql.broadcast(analysed), ["kind", "key"], "left")
        .withColumn("bytes", sql.coalesce("total", "bytes"))
        .drop("total")
    )
    findings.write.mode("overwrite").parquet(f"{folder}/findings")
    for name, parts in (("ages", _ages), ("folders", _folders)):
        rows = spark.createDataFrame(_shares(top, parts), _SHARES)
        rows.coalesce(1).write.mode("overwrite").parquet(f"{folder}/{name}")


def _analysed(finding: Finding, breakdown: Breakdown) -> tuple[Any, ...]:
    return (
        finding.kind,
        finding.key,
        breakdown.bytes,
        breakdown.old_versions,
        breakdown.old_bytes,
        breakdown.markers,
    )


def _ages(breakdown: Breakdown) -> Sequence[Share]:
    return breakdown.ages


def _folders(breakdown: Breakdown) -> Sequence[Share]:
    return breakdown.folders


def _shares(
    top: Iterable[Finding], parts: Callable[[Breakdown], Sequence[Share]]
) -> list[tuple[str, str, int, str, int, int]]:
    return [
        (finding.kind, finding.key, rank, *share)
        for finding in top
        if finding.breakdown
        for rank, share in enumerate(parts(finding.breakdown), 1)
    ]
