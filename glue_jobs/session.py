"""The Spark session of a job: Glue's, or a local one."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession


@contextmanager
def session(name: str) -> Iterator[SparkSession]:
    """Open a session with times in UTC, and stop it after the block.

    Settings needed before Spark starts (catalogs, file systems, memory) come with `--conf` from
    whoever submits the job.
    """
    spark = SparkSession.builder.appName(name).getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        yield spark
    finally:
        with suppress(Py4JError, OSError):  # a Spark that has ended cannot be stopped
            spark.stop()
