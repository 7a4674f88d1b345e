"""The report as Parquet."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from glue_jobs.scanner.report.finding import Finding, Share, Why
from glue_jobs.scanner.report.lifecycle import advice

_PLACE = "kind string, key string"
_COSTS = (
    f"{_PLACE}, total long, dollars double, old_versions long, old_bytes long, old_dollars double, "
    "markers long, rule string"
)
_OF_SIZE = ("total", "dollars", "old_bytes", "old_dollars")
_SHARES = f"{_PLACE}, place int, name string, versions long, bytes long"


def write(
    edges: DataFrame,
    top: Sequence[Finding],
    thresholds: Mapping[str, int],
    folder: str,
    *,
    sizes: bool,
) -> None:
    """Write the three tables below this folder, over those of an earlier try.

    `findings` has a row a finding that is there or has just cleared. What is known only of `top`,
    the price and the rule among it, is null for the rest; bytes and prices are null for all where
    the listing has no `sizes`.
    """
    spark = edges.sparkSession
    costs = [_costs(each, thresholds[each.kind], each.why) for each in top if each.why]
    known = spark.createDataFrame(costs, _COSTS)
    if not sizes:
        nothing = {name: sql.lit(None).cast(known.schema[name].dataType) for name in _OF_SIZE}
        known = known.withColumns(nothing)
    findings = (
        edges.where("state is not null")
        .drop("open")
        .join(sql.broadcast(known), ["kind", "key"], "left")
        .withColumn("bytes", sql.coalesce("total", "bytes"))
        .drop("total")
    )
    findings.write.mode("overwrite").parquet(f"{folder}/findings")
    for name, parts in (("ages", _ages), ("folders", _folders)):
        rows = spark.createDataFrame(_shares(top, parts), _SHARES)
        rows.coalesce(1).write.mode("overwrite").parquet(f"{folder}/{name}")


def _costs(finding: Finding, threshold: int, why: Why) -> tuple[Any, ...]:
    rule = advice(finding, threshold).rule
    return (
        finding.kind,
        finding.key,
        why.bytes,
        why.dollars,
        why.old_versions,
        why.old_bytes,
        why.old_dollars,
        why.markers,
        json.dumps(rule) if rule else None,
    )


def _ages(why: Why) -> Sequence[Share]:
    return why.ages


def _folders(why: Why) -> Sequence[Share]:
    return why.folders


def _shares(
    top: Iterable[Finding], parts: Callable[[Why], Sequence[Share]]
) -> list[tuple[str, str, int, str, int, int]]:
    return [
        (finding.kind, finding.key, place, *share)
        for finding in top
        if finding.why
        for place, share in enumerate(parts(finding.why), 1)
    ]
