"""What Spark did: its jobs and their stages, with their counts."""

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import SparkSession


def jobs(spark: SparkSession) -> Iterator[Any]:
    """Yield all jobs of the session, the oldest first."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    found = context.statusStore().jobsList(None)
    yield from sorted(
        (found.apply(nth) for nth in range(found.size())), key=lambda job: job.jobId()
    )


def finished_stages(spark: SparkSession, jobs: Sequence[Any]) -> list[Any]:
    """Return the stages of jobs, once where jobs share one, without those that were skipped."""
    store = spark.sparkContext._jsc.sc().statusStore()
    ids = [job.stageIds() for job in jobs]
    distinct = {stages.apply(nth) for stages in ids for nth in range(stages.size())}
    stages = [store.lastStageAttempt(stage) for stage in sorted(distinct)]
    return [stage for stage in stages if str(stage.status()) == "COMPLETE"]
