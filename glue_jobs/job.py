"""The start of a job's script: its arguments, its run and its session."""

import sys
from collections.abc import Callable
from typing import TypeVar

from pyspark.sql import SparkSession

from bucketcast.settings.jobs import Job, parse
from glue_jobs.run import Run
from glue_jobs.session import session

T = TypeVar("T", bound=Job)


def start(name: str, options: type[T], work: Callable[[SparkSession, T, Run], None]) -> None:
    """Do a job's work with the options that the command line gives."""
    settings = parse(options, sys.argv[1:])
    with Run(settings.run) as run, session(name) as spark:
        work(spark, settings, run)
