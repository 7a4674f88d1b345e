"""A driver with three executors, each a JVM of its own: `python -m tests.glue.cluster_driver`.

It runs the jobs that the lines of its input name, as `["backfill", ["--bucket=…", …]]`, and after
each writes a line `ended: ERROR`, where the error may be empty. Executors inherit its environment.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

import pyspark
from pyspark.sql import SparkSession

from bucketcast.settings.pipeline import Backfill, Reconcile, parse
from glue_jobs.backfill.backfill import backfill
from glue_jobs.reason import reason
from glue_jobs.reconcile.reconcile import reconcile
from glue_jobs.run import Run
from localstack.spark import SMALL

JOBS: Final[dict[str, tuple[type[Any], Any]]] = {
    "backfill": (Backfill, backfill),
    "reconcile": (Reconcile, reconcile),
}
ENDED: Final = "ended: "


def main() -> None:
    """Run jobs until the input ends; the working folder is Spark's."""
    jvm = " ".join(["-Duser.timezone=UTC", *SMALL])
    spark = (
        SparkSession.builder.master("local-cluster[3,1,1536]")
        .config("spark.driver.memory", "1g")
        .config("spark.executor.memory", "640m")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", jvm)
        .config("spark.executor.extraJavaOptions", jvm)
        .config("spark.local.dir", f"{Path.cwd()}/blocks")
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "6")
        .config("spark.ui.enabled", "false")
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
        sys.stdout.write(f"{ENDED}{error}\n")
        sys.stdout.flush()
    spark.stop()


def home(folder: Path) -> Path:
    """Make a folder for SPARK_HOME, in which Spark's workers may write their logs."""
    folder.mkdir()
    for name in ("bin", "jars"):
        (folder / name).symlink_to(Path(pyspark.__file__).parent / name)
    return folder


if __name__ == "__main__":
    main()
