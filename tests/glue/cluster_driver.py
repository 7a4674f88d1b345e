"""A driver with two executors, each a JVM of its own.

`python -m tests.glue.cluster_driver OPTION...` runs a backfill. Executors inherit its environment.
"""

import sys
from pathlib import Path

import pyspark

from bucketcast.settings.pipeline import Backfill, parse
from glue_jobs.backfill.backfill import backfill
from glue_jobs.run import Run
from tests.glue.conftest import JVM, builder


def main() -> None:
    """Run the backfill; the working folder is Spark's."""
    spark = (
        builder(Path.cwd())
        .master("local-cluster[2,1,1536]")
        .config("spark.driver.memory", "1g")
        .config("spark.executor.memory", "640m")
        .config("spark.executor.extraJavaOptions", JVM)
        # No job begins on fewer executors.
        .config("spark.scheduler.minRegisteredResourcesRatio", "1")
        .config("spark.scheduler.maxRegisteredResourcesWaitingTime", "600s")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    settings = parse(Backfill, sys.argv[1:])
    with Run(settings.run) as run:
        backfill(spark, settings, run)


def home(folder: Path) -> Path:
    """Make a folder for SPARK_HOME, in which Spark's workers may write their logs."""
    folder.mkdir()
    for name in ("bin", "jars"):
        (folder / name).symlink_to(Path(pyspark.__file__).parent / name)
    return folder


if __name__ == "__main__":
    main()
