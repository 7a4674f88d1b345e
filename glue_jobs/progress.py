"""Report Spark's progress while a long call runs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from bucketcast.errors import BucketcastError
from glue_jobs.background import running
from glue_jobs.run import Run

_BETWEEN: Final = 2.0  # seconds


@contextmanager
def reported(spark: SparkSession, run: Run, stage: str) -> Iterator[None]:
    """Report the stage, and while the block runs how many tasks of Spark's stages are done.

    Spark works in several stages with tasks of their own: the total is of the active ones.
    """
    run.report(stage)
    with running("progress", partial(_report, spark, run, stage)):
        yield


def _report(spark: SparkSession, run: Run, stage: str, ended: threading.Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    # Progress must not end the job: the next call reports what is wrong.
    with suppress(Py4JError, OSError, BucketcastError):
        while not ended.wait(_BETWEEN):
            active = map(tracker.getStageInfo, tracker.getActiveStageIds())
            stages = [each for each in active if each]
            done = sum(each.numCompletedTasks for each in stages)
            if total := sum(each.numTasks for each in stages):
                run.report(stage, done, total, "tasks")
