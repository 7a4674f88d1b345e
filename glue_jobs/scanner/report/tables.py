"""Write the report as Parquet."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from glue_jobs.scanner.report.finding import Breakdown, Finding, Share
from glue_jobs.scanner.report.lifecycle import advice

_GROUP = "kind string, key string"
_COSTS = (
    f"{_GROUP}, total long, dollars double, old_versions long, old_bytes long, old_dollars double, "
    "markers long, rule string"
)
_OF_SIZE = ("total", "dollars", "old_bytes", "old_dollars")
_SHARES = f"{_GROUP}, place int, name string, versions long, bytes long"


def write(
    alert_states: DataFrame,
    top: Sequence[Finding],
    thresholds: Mapping[str, int],
    folder: str,
    *,
    sizes: bool,
) -> None:
    """Write the three tables below this folder, over those of an earlier attempt.

    `findings` has a row per finding that exists or has just cleared. What is known only of `top`,
    such as the price and the rule, is null for the rest; bytes and prices are null for all if the
    listing has no `sizes`.
    """
    spark = alert_states.sparkSession
    costs = [_costs(each, thresholds[each.kind], each.breakdown) for each in top if each.breakdown]
    analysed = spark.createDataFrame(costs, _COSTS)
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


def _costs(finding: Finding, threshold: int, breakdown: Breakdown) -> tuple[Any, ...]:
    rule = advice(finding, threshold).rule
    return (
        finding.kind,
        finding.key,
        breakdown.bytes,
        breakdown.dollars,
        breakdown.old_versions,
        breakdown.old_bytes,
        breakdown.old_dollars,
        breakdown.markers,
        json.dumps(rule) if rule else None,
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
