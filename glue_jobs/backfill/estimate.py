"""What sending a spool will take: its time, and what is paid for."""

from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from bucketcast.settings.pipeline import Backfill
from glue_jobs.outbox.chunks import CHUNKS
from glue_jobs.outbox.pace import seconds_needed
from glue_jobs.outbox.sender import TASK_RATE, count_tasks

_UNIT_BYTES: Final = 65_536
"""SQS bills a call for each 64 KB that it carries."""
_CORES_PER_DPU: Final = 4
_MINIMUM_SECONDS: Final = 60.0
"""Glue bills a run for a minute at least."""


def estimate(spark: SparkSession, folder: str, settings: Backfill) -> dict[str, Any]:
    """Return the seconds for all events of a spool, SQS's and S3's requests, and Glue's DPU hours.

    Without a rate it is as fast as the present cores can send, at best.
    """
    bytes_of = sql.expr("aggregate(bodies, 0L, (sum, body) -> sum + octet_length(body))")
    chunks = spark.read.schema(CHUNKS).parquet(f"{folder}/chunks")
    calls, units, events = chunks.agg(
        sql.count("chunk"),
        sql.coalesce(sql.sum(sql.ceil(bytes_of / _UNIT_BYTES)), sql.lit(0)),
        sql.coalesce(sql.sum("events"), sql.lit(0)),
    ).collect()[0]
    tasks = count_tasks(spark, settings.rate)
    seconds = seconds_needed(events, settings.rate, settings.queue) or events / (tasks * TASK_RATE)
    slots = int(spark.conf.get("spark.executor.cores", None) or _CORES_PER_DPU)
    workers = 1 + -(-tasks // slots)  # one has the driver
    hours = max(seconds, _MINIMUM_SECONDS) / 3600
    return {
        "seconds": round(seconds),
        # All is received once, and deleted call by call.
        "sqs_requests": int(2 * units + calls),
        "s3_requests": int(calls),
        "dpu_hours": round(hours * workers * slots / _CORES_PER_DPU, 4),
    }
