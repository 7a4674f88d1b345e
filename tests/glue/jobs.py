"""Run a job in this process, as its `job.py` does."""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from bucketcast.settings.pipeline import arguments, parse
from glue_jobs import files
from glue_jobs.run import Run

T = TypeVar("T")


def settings_of(job: type[T], values: Mapping[str, str]) -> T:
    """Return the settings of a job whose arguments have these values."""
    return parse(job, [word for pair in arguments(values).items() for word in pair])


def run_job(job: Callable[[SparkSession, T, Run], object], spark: SparkSession, settings: T) -> Any:
    """Run it, and return the result that it leaves."""
    given: Any = settings
    with Run(given.run) as run:
        job(spark, settings, run)
    return json.loads(files.read(run.path("result.json")))
