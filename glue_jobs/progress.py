"""How far Spark is with what it does now, told while one call of it takes its time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from bucketcast.errors import BucketcastError
from glue_jobs.run import Run

_BETWEEN: Final = 2.0  # seconds


@contextmanager
def told(spark: SparkSession, run: Run, stage: str) -> Iterator[None]:
    """Say the stage, and while the block runs how many tasks of Spark's own stages are done.

    Spark works in several stages, each with tasks of its own: the total is of those under way.
    """
    run.says(stage)
    ended = threading.Event()
    voice = threading.Thread(
        target=_tell, args=(spark, run, stage, ended), name="progress", daemon=True
    )
    voice.start()
    try:
        yield
    finally:
        ended.set()
        voice.join()


def _tell(spark: SparkSession, run: Run, stage: str, ended: threading.Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    # What is only for whoever watches must not end the job: the next call tells what is wrong.
    with suppress(Py4JError, OSError, BucketcastError):
        while not ended.wait(_BETWEEN):
            active = map(tracker.getStageInfo, tracker.getActiveStageIds())
            stages = [each for each in active if each]
            done = sum(each.numCompletedTasks for each in stages)
            if total := sum(each.numTasks for each in stages):
                run.says(stage, done, total, "tasks")
