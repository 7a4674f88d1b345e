"""A bucket's content as rows of one schema, from any source."""

from typing import Final

from pyspark.sql import DataFrame, SparkSession

from glue_jobs.listing import inventory, live, metadata
from glue_jobs.listing.schema import Listing

_INITIAL: Final = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
_PARTITIONS_PER_TASK: Final = 3


def read(spark: SparkSession, bucket: str, source: str, *, prefix: str = "") -> Listing:
    """Read a bucket's content below a prefix; `source` is as in `settings.pipeline.Content`.

    Raises:
        BucketcastError: the source cannot be used.
    """
    content = _read(spark, bucket, source, prefix)
    _size_shuffles(spark, content.objects)
    return content


def _size_shuffles(spark: SparkSession, objects: DataFrame) -> None:
    """Let shuffles begin with partitions in proportion to the tasks that read the content.

    Spark merges small partitions, and divides none. Without this it begins with one for each core,
    however much there is.
    """
    tasks = objects.select("key").rdd.getNumPartitions()
    least = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    spark.conf.set(_INITIAL, max(least, _PARTITIONS_PER_TASK * tasks))


def _read(spark: SparkSession, bucket: str, source: str, prefix: str) -> Listing:
    if source == "listing":
        return live.read(spark, bucket, prefix=prefix)
    if source == "metadata":
        return metadata.read(spark, bucket, prefix=prefix)
    return inventory.read(spark, bucket, source, prefix=prefix)
