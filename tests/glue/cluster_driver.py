"""A driver with three executors, each a JVM of its own: `python -m tests.glue.cluster_driver`.

It runs the jobs that the lines of its input name, as `["backfill", ["--bucket=…", …]]`, and after
each writes a line with its error, which may be empty. Executors inherit its environment.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any, Final

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from bucketcast.settings.pipeline import Backfill, Reconcile, Scan, parse
from glue_jobs.backfill.backfill import backfill
from glue_jobs.reason import reason
from glue_jobs.reconcile.reconcile import reconcile
from glue_jobs.run import Run
from glue_jobs.scanner.scan import scan
from tests.glue.conftest import JVM, builder


def history(spark: SparkSession, settings: Scan, run: Run) -> None:
    """Read what the history has: the end of the run's name, then kind and state, or objects."""
    name = sql.substring_index("run", "/", -1)
    findings = spark.table(f"{settings.history}.findings").select(name, "kind", "state")
    usage = spark.table(f"{settings.history}.usage").where("dimension = 'total'")
    run.set_result(
        {
            "findings": sorted(map(list, findings.collect())),
            "objects": sorted(map(list, usage.select(name, "objects").collect())),
        }
    )


JOBS: Final[dict[str, tuple[type[Any], Any]]] = {
    "backfill": (Backfill, backfill),
    "reconcile": (Reconcile, reconcile),
    "scan": (Scan, scan),
    "history": (Scan, history),
}


def main() -> None:
    """Run jobs until the input ends; the working folder is Spark's."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Java prints is for the log
    spark = (
        builder(Path.cwd())
        .master("local-cluster[3,1,1536]")
        .config("spark.driver.memory", "1g")
        .config("spark.executor.memory", "640m")
        .config("spark.executor.extraJavaOptions", JVM)
        # No job begins on fewer executors.
        .config("spark.scheduler.minRegisteredResourcesRatio", "1")
        .config("spark.scheduler.maxRegisteredResourcesWaitingTime", "600s")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    for line in sys.stdin:
        name, arguments = json.loads(line)
        options, job = JOBS[name]
        settings = parse(options, arguments)
        error = ""
        try:
            with Run(settings.run) as run:
                job(spark, settings, run)
        except Exception as raised:  # noqa: BLE001 - the test judges it
            error = reason(raised).replace("\n", " ")
        answers.write(f"{error}\n")
        answers.flush()
    spark.stop()


def home(folder: Path) -> Path:
    """Make a folder for SPARK_HOME, in which Spark's workers may write their logs."""
    folder.mkdir()
    for name in ("bin", "jars"):
        (folder / name).symlink_to(Path(pyspark.__file__).parent / name)
    return folder


if __name__ == "__main__":
    main()
