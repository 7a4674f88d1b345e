from collections.abc import Iterable, Iterator

import boto3
from pyspark.sql import SparkSession

from glue_jobs import files
from tests.glue.emulator import Emulator


def test_the_program_and_the_workers_of_spark_reach_the_local_s3(
    spark: SparkSession, aws: Emulator
) -> None:
    aws.client("s3").create_bucket(Bucket="reachable")
    files.write("s3://reachable/from-the-program", b"")

    def names(_: Iterable[int]) -> Iterator[str]:
        for each in boto3.client("s3").list_objects_v2(Bucket="reachable")["Contents"]:
            yield each["Key"]

    found = spark.sparkContext.parallelize([0], 1).mapPartitions(names).collect()
    assert found == ["from-the-program"]
