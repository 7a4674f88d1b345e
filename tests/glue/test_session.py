from pyspark.sql import SparkSession

from glue_jobs.listing.schema import LISTING


def test_spark_accepts_the_schema_of_a_listing(spark: SparkSession) -> None:
    assert spark.createDataFrame([], LISTING).count() == 0
