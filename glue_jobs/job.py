"""The start of a job's script: its arguments, its run and its session."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from bucketcast.settings.pipeline import Job, parse
from glue_jobs.run import Run

T = TypeVar("T", bound=Job)


def start(name: str, options: type[T], work: Callable[[SparkSession, T, Run], None]) -> None:
    """Do a job's work with the options that the command line gives."""
    settings = parse(options, sys.argv[1:])
    with Run(settings.run) as run, session(name) as spark:
        work(spark, settings, run)


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
