from collections.abc import Iterable, Iterator

import boto3
from pyspark.sql import SparkSession

from glue_jobs import files
from tests.glue.emulator import Emulator


def test_driver_and_workers_of_spark_reach_the_local_s3(spark: SparkSession, aws: Emulator) -> None:
    aws.client("s3").create_bucket(Bucket="reachable")
    files.write("s3://reachable/from-the-driver", b"")

    def names(_: Iterable[int]) -> Iterator[str]:
        for entry in boto3.client("s3").list_objects_v2(Bucket="reachable")["Contents"]:
            yield entry["Key"]

    listed = spark.sparkContext.parallelize([0], 1).mapPartitions(names).collect()
    assert listed == ["from-the-driver"]
