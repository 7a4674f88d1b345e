"""The Spark session of a job: the one Glue made, or one of this machine."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession


@contextmanager
def session(name: str) -> Iterator[SparkSession]:
    """A session whose times are UTC, ended with the block.

    What must be set before Spark starts (catalogs, file systems, memory) comes with `--conf` from
    whoever submits the job.
    """
    spark = SparkSession.builder.appName(name).getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        yield spark
    finally:
        with suppress(Py4JError, OSError):  # a Spark that has ended cannot be stopped
            spark.stop()
