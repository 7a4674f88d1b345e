"""A whole scan as the job makes it: `python -m benchmarks.scanner.spark MANIFEST FOLDER`.

The local AWS is the one that the environment's variables name.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from benchmarks.scanner.aws import QUEUE
from bucketcast.settings.pipeline import JOBS, parse
from glue_jobs.run import Run
from glue_jobs.scanner.scan import scan
from tests.glue import local_files
from tests.unit.moto_aws import TABLE

BUCKET: Final = "uploads"
TARGET: Final = "arn:minio:sqs::mirror:redis"


def session(**settings: Any) -> SparkSession:
    """Start Spark on both cores, with the heap of a small driver, unless the settings say more."""
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(Path.cwd())}
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.extraJavaOptions", "-XX:+UseParallelGC")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.python.sql.dataFrameDebugging.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "16")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config(map=settings)
        .getOrCreate()
    )


def settings(job: str, home: str, report: str, **options: str) -> Any:
    """Return the settings of a job whose folders are in `home`, with a file as its source."""
    queue = f"{os.environ['AWS_ENDPOINT_URL']}/000000000000/{QUEUE}"
    given = {
        "bucket": BUCKET,
        "run": f"{home}/run",
        "state": f"{home}/alerts",
        "ingress": queue,
        "queue": queue,
        "table": TABLE,
        "target": TARGET,
        "mirror": '{"kind": "redis", "settings": {"address": "a", "key": "k"}}',
        "rate": "0",
    } | options
    parsed: Any = parse(JOBS[job], [word for key in given for word in (f"--{key}", given[key])])
    return parsed if "source" in options else replace(parsed, source=report)


def main() -> None:
    """Scan the bucket of a report."""
    manifest, folder = Path(sys.argv[1]), Path(sys.argv[2])
    local_files.install()
    chosen = settings("scan", folder.as_uri(), manifest.as_uri())
    with Run(chosen.run) as run:
        scan(session(), chosen, run)


if __name__ == "__main__":
    main()
