"""A whole scan as the job makes it: `python -m benchmarks.scanner.spark MANIFEST FOLDER`.

The local AWS is the one that the environment's variables name.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from bucketcast.settings.pipeline import Scan, parse
from glue_jobs.run import Run
from glue_jobs.scanner.scan import scan
from tests.glue import local_files
from tests.unit.moto_aws import TABLE

QUEUE: Final = "Bucketcast-ingress"


def session() -> SparkSession:
    """Start Spark on both cores, with the heap of a small driver."""
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.extraJavaOptions", "-XX:+UseParallelGC")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "16")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )


def main() -> None:
    """Scan the bucket of a report."""
    manifest, folder = Path(sys.argv[1]), Path(sys.argv[2])
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(Path.cwd())}
    options = {
        "bucket": "uploads",
        "run": f"{folder.as_uri()}/run",
        "state": f"{folder.as_uri()}/alerts",
        "ingress": f"{os.environ['AWS_ENDPOINT_URL']}/000000000000/{QUEUE}",
        "table": TABLE,
    }
    local_files.install()
    settings = parse(Scan, [word for key, value in options.items() for word in (f"--{key}", value)])
    with Run(settings.run) as run:
        scan(session(), replace(settings, source=manifest.as_uri()), run)


if __name__ == "__main__":
    main()
