"""The worst input that each limit which meets the driver of a scan allows.

A small part of each is measured, in a process of its own, which starts Spark.
"""

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import pytest

from bucketcast import limits
from localstack.java import QUICK
from tests.unit.limits.of_ingest import Row, Taken, measured

DRIVER_MB = 10_240
"""Of the smallest worker, a G.1X: Glue gives the JVM of a driver so much of its 16 GB."""
COPIES = 2 * 3
"""Of a table that all workers get the driver has the rows, the table, and the pieces that it sends;
of buckets it has two tables at once."""
FOUND = {
    "MOST_SCAN_HASHES": "1000 * id hash, binary(null) folder",
    "MOST_SCAN_BUCKETS": "bigint(null) hash, binary(id || '/a/') folder",
}
"""The sums of a scan with as many different names as there are rows, by the limit they meet."""
NAMES = 1 << 16
"""That are found; of fewer, the tables are of the size that Spark begins with."""
SETTINGS: dict[str, Any] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",  # of which a part is within Spark's own limit
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": " ".join(QUICK),
}


def hold() -> dict[str, Taken]:
    """Find names, as many as each limit and five times as many; return what the most take."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - not where ingest is measured

    spark: Any = SparkSession.builder.master("local[2]").config(map=SETTINGS).getOrCreate()
    return {limit: Taken(held(spark, limit)) for limit in FOUND}


def held(spark: Any, limit: str) -> float:
    """Return the most megabytes that a part of a limit's names takes, times the parts."""
    from glue_jobs.scanner import counting, sums  # noqa: PLC0415 - as above

    listing = spark.range(1).selectExpr("string(id) key", "id size")
    thresholds = sums.Thresholds(folders=0, versions=1)
    most_held: list[float] = []
    for most, times in ((NAMES, 1), (2 * NAMES, 1), (NAMES, 5)):
        part = getattr(limits, limit) // most
        setattr(counting, limit, most)
        found = spark.range(times * most).selectExpr(*FOUND[limit].split(", "))
        execution = counting.find(listing, found, thresholds)._jdf.queryExecution()
        execution.toRdd().count()
        tables = broadcast(execution.executedPlan())
        most_held.append(COPIES * part * max(tables, default=0) / (1 << 20))
    assert 0 < most_held[0] == pytest.approx(most_held[1], rel=0.1), "it grows with the input"
    return max(most_held)


def broadcast(plan: Any) -> Iterator[int]:
    """Yield the bytes of each table that a plan has sent to all workers."""
    if plan.nodeName() == "BroadcastExchange":
        yield plan.metrics().apply("dataSize").value()
    for number in range(plan.children().size()):
        yield from broadcast(plan.children().apply(number))


@cache
def all_held() -> dict[str, Taken]:
    """Return what each limit takes, of one process: it takes longer to start than to find."""
    found: dict[str, Taken] = measured(hold, seconds=300)
    return found


def taken(limit: str) -> Taken:
    """Return what one limit takes."""
    return all_held()[limit]


ROWS = tuple(Row("keys of a scan", (limit,), partial(taken, limit)) for limit in FOUND)
